"""The conditions state the number of held-out tokens and the variation that intervals do not contain."""

from dataclasses import replace

import pytest

from reports.report import build
from reports.sections.evaluation_set import ENTROPY, TERM, evaluation_set_notes
from search_space.objective import MaskedLanguageModel
from tests.factories.reports import Trial, document, primary, shared, snapshot
from tests.factories.stage_results import PLAUSIBLE

MADE = shared("evaluation_set", "evaluation_set", {"questions": 4096, "sequences": 1024})


def test_the_number_of_tokens_is_the_records_own() -> None:
    ((term, text),) = evaluation_set_notes([MADE], MaskedLanguageModel().kind, tasks=False)
    assert term == TERM
    assert text == (
        "all arms and seeds are evaluated on the same 4,096 held-out masked tokens; intervals contain the "
        "variation between seeds, not the sampling error of this set"
    )


def test_tokens_of_other_objectives_are_not_called_masked_and_tasks_share_dev_examples() -> None:
    ((_, text),) = evaluation_set_notes([MADE], "replaced_token_detection", tasks=True)
    assert "4,096 held-out tokens and, for each task, on the same dev examples;" in text


@pytest.mark.parametrize("made", [True, False])
def test_a_report_has_the_condition_once_the_set_exists(made: bool) -> None:
    view = snapshot([Trial("baseline", 1).pretrained(3.0)], {"baseline": {}}, (), resolved=document(()))
    view = replace(view, shared=(*view.shared, MADE)) if made else view
    assert (TERM in dict(build(view, primary=primary).footer)) is made


@pytest.mark.parametrize("objective", ["masked_language_model", "replaced_token_detection"])
@pytest.mark.parametrize("entropy", [None, 6.1234])
def test_the_loss_of_token_frequencies_is_stated_where_it_was_computed_and_is_a_floor_of_the_objective(
    objective: str, entropy: float | None
) -> None:
    known = {} if entropy is None else {"validation_unigram_entropy": entropy}
    tokens = shared("tokens", "tokens", {**PLAUSIBLE["tokens"], **known})
    notes = dict(evaluation_set_notes([tokens], objective, tasks=False))
    assert (ENTROPY in notes) == (entropy is not None and objective == "masked_language_model")
    assert notes.get(ENTROPY, "6.123 nats, ").startswith("6.123 nats, ")
