"""Reports on values that do not vary over seeds: no interval, no test, no verdict, and no number that is not one."""

import re

import pytest

from reports.document import Report
from reports.formats import render
from reports.report import build
from steeplechase.analysis.difference import MeanTest
from tests.factories.read_reports import rows_of
from tests.factories.reports import ARMS, Trial, document, primary, snapshot

SEEDS = (1, 2, 3)
LEVELS = {name: 10.0 * place for place, name in enumerate(ARMS)}
NOT_A_NUMBER = re.compile(r"\b(nan|inf|None)\b", re.IGNORECASE)


def constant(test: MeanTest) -> Report:
    """Return the report of arms on different levels, each with one value at all of its seeds."""
    trials = [
        Trial(name, seed).pretrained(6.0 - level / 100).tuned("docs_pair", 1, accuracy=20 + level)
        for name, level in LEVELS.items()
        for seed in SEEDS
    ]
    more = {"comparison": str(test), "claims": ["held_out_loss(span_dynamic) < held_out_loss(baseline)"]}
    return build(
        snapshot(trials, tasks=("docs_pair",), tuning_seeds=(1,), resolved=document(("docs_pair",), SEEDS, **more)),
        primary,
    )


@pytest.mark.parametrize("test", MeanTest)
def test_without_spread_there_is_no_interval_no_verdict_and_no_number_that_is_none(test: MeanTest) -> None:
    report = constant(test)
    for row in rows_of(report, "effects"):
        assert row["delta"]
        verdict = "undecided" if row["metric"] == "held_out_loss" else "not testable at this size"
        assert (row["low"], row["high"], row["p"], row["verdict"]) == (None, None, None, verdict)
    assert [row["verdict"] for row in rows_of(report, "claims")] == ["open here"]
    assert "3 seeds give no interval" in report.finding
    assert not re.search(r"better|worse|significant(?!ly exceed every reference)", report.finding)
    text = render(report, "markdown")
    assert not NOT_A_NUMBER.search(text)
    assert "values that do not vary over seeds give no interval" in text.replace("\\", "")
