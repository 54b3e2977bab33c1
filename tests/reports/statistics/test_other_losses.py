"""An arm whose held-out loss is another than the baseline's is compared with it on tasks alone."""

from dataclasses import replace

import pytest

from reports.report import build
from reports.sections.curves import Curves
from reports.sections.evaluation_set import OTHER, TERM
from reports.statistics.metrics import Metric
from reports.statistics.reading import results_of
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from tests.factories.read_reports import figure_data
from tests.factories.reports import Trial, document, primary, shared, snapshot

MADE = shared("evaluation_set", "evaluation_set", {"questions": 4096, "sequences": 1024})


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
    same = f"all seeds of {', '.join(name for name in arms if name != 'other')} are evaluated on the same 4,096"
    assert dict(report.footer)[TERM].startswith(same)
    assert {line.arm for line in figure_data(report, Curves).lines} == arms.keys() - {"other"}
