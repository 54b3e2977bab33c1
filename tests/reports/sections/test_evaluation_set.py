"""The conditions state the number of held-out tokens."""

import pytest

from reports.sections.evaluation_set import ENTROPY, TERM, evaluation_set_notes
from reports.sections.objectives_by_arm import TRAINED_OTHERWISE, objective_notes, segment_pair_notes
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from search_space.overrides import apply
from tests.factories.reports import shared
from tests.factories.stage_results import PLAUSIBLE

MADE = shared("evaluation_set", "evaluation_set", {"questions": 4096, "sequences": 1024})


def test_the_number_of_tokens_is_the_records_own() -> None:
    ((term, text),) = evaluation_set_notes([MADE], MaskedLanguageModel().kind, tasks=False)
    assert term == TERM
    assert text == "all arms and seeds are evaluated on the same 4,096 held-out predicted tokens"


def test_tokens_of_other_objectives_are_not_called_masked_and_tasks_share_dev_examples() -> None:
    ((_, text),) = evaluation_set_notes([MADE], "replaced_token_detection", tasks=True)
    assert "4,096 held-out tokens and, for each task, on the same dev examples" in text


def test_arms_with_another_held_out_loss_share_the_dev_examples_alone() -> None:
    (_, text), other = evaluation_set_notes(
        [MADE],
        "denoising",
        tasks=True,
        arms=["baseline", "rotated", "deep"],
        other_loss=["rotated"],
    )
    assert text.startswith(
        "all seeds of baseline, deep are evaluated on the same 4,096 held-out tokens; all arms and seeds are "
        "evaluated, for each task, on the same dev examples"
    )
    assert other[1].endswith("measured on a set of its own, and compared on tasks alone")


def test_documents_of_one_sentence_are_counted_where_an_objective_reads_pairs() -> None:
    single = {**PLAUSIBLE["tokens"]["train"], "single_sentence_documents": 1234}
    (note,) = segment_pair_notes([shared("tokens", "tokens", {**PLAUSIBLE["tokens"], "train": single})])
    term, text = note
    assert term == "Pairs of segments"
    assert text.startswith("1,234 of 8,600 training documents have one sentence; no pair")
    assert not [*segment_pair_notes([shared("tokens", "tokens", PLAUSIBLE["tokens"])])]


def test_arms_trained_by_another_objective_than_the_one_they_are_measured_on_are_named() -> None:
    baseline = Candidate.model_validate({"objective": {"kind": "masked_language_model"}})
    arms = {
        "baseline": baseline,
        "deeper": apply(baseline, {"depth": 3}),
        "whole": apply(baseline, {"objective.selection": "whole_word"}),
        "detected": apply(baseline, {"objective": {"kind": "replaced_token_detection"}}),
        "boundary": apply(baseline, {"objective": {"kind": "span_boundary"}}),
    }
    ((term, text),) = objective_notes(arms, other_loss={"detected"})
    assert term == TRAINED_OTHERWISE
    assert text.endswith(" is one of what is asked too: whole (selection whole_word), boundary (span boundary)")
    assert not [*objective_notes({"baseline": baseline, "deeper": arms["deeper"]}, ())]
    assert not [*objective_notes({"whole": arms["whole"]}, ())]


@pytest.mark.parametrize("objective", ["masked_language_model", "replaced_token_detection"])
@pytest.mark.parametrize("entropy", [None, 6.1234])
def test_the_loss_of_token_frequencies_is_stated_where_it_was_computed_and_is_a_floor_of_the_objective(
    objective: str, entropy: float | None
) -> None:
    known = {} if entropy is None else {"validation_unigram_entropy": entropy}
    tokens = shared("tokens", "tokens", {**PLAUSIBLE["tokens"], **known})
    notes = dict(evaluation_set_notes([tokens], objective, tasks=False, visible=0.15))
    assert (ENTROPY in notes) == (entropy is not None and objective == "masked_language_model")
    if ENTROPY in notes:
        assert notes[ENTROPY].startswith(
            "6.123 nats, the loss on predicted tokens of a model that knows the token freq"
        )
        assert notes[ENTROPY].endswith("; 5.205 if it also copies the 15% that are left visible")
