"""The conditions state the number of held-out tokens and the variation that intervals do not contain."""

from dataclasses import replace

import pytest

from configuration.metrics import HELD_OUT_LOSS
from reports.figures.curves import Curves
from reports.report import build
from reports.sections.evaluation_set import ENTROPY, OTHER, TERM, evaluation_set_notes
from reports.statistics.metrics import Metric
from reports.statistics.results import results_of
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from tests.factories.reports import Trial, document, figure_data, primary, shared, snapshot
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


@pytest.mark.parametrize("comparable", [True, False])
def test_an_arm_with_another_held_out_loss_is_compared_on_tasks_alone(comparable: bool) -> None:
    """Its losses are in no table and no curve; without any comparable arm the held-out loss is no metric."""
    arms = {"baseline": {}, "other": {}, **({"deep": {}} if comparable else {})}
    trials = [
        Trial(name, seed).pretrained(3.0 + seed / 10).tuned("docs_pair", 1, **{primary("docs_pair"): 50.0 + seed})
        for name in arms
        for seed in (1, 2)
    ]
    view = snapshot(trials, arms, ("docs_pair",), (1,), document(("docs_pair",)))
    masked = Candidate(objective=MaskedLanguageModel())
    rows = (replace(row, candidate=masked) if row.name == "other" else row for row in view.arms)
    view = replace(view, arms=tuple(rows), shared=(*view.shared, MADE))
    results = results_of(view, primary)
    assert (Metric(HELD_OUT_LOSS) in results.metrics) is comparable
    assert HELD_OUT_LOSS not in results.values["other"]
    assert results.effect("other", Metric("docs_pair")).n == 2
    report = build(view, primary=primary)
    assert OTHER in dict(report.footer)
    assert "all arms but other and seeds" in dict(report.footer)[TERM]
    curves = figure_data(report, Curves)
    assert curves is not None
    assert {line.arm for line in curves.lines} == arms.keys() - {"other"}


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
