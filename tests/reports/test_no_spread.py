"""Reports on values that do not vary over seeds: no interval, no test, no verdict, and no number that is not one."""

import re

import pytest

from reports.document import Report
from reports.formats import render
from reports.report import build
from steeplechase.analysis.difference import MeanTest
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
def test_without_spread_there_is_no_interval_and_no_verdict(test: MeanTest) -> None:
    report = constant(test)
    effects = next(table for table in report.tables if table.name == "effects")
    for row in effects.rows:
        assert row["delta"]
        verdict = "undecided" if row["metric"] == "held_out_loss" else "not testable at this size"
        assert (row["low"], row["high"], row["p"], row["verdict"]) == (None, None, None, verdict)
    (claim,) = next(table for table in report.tables if table.name == "claims").rows
    assert claim["verdict"] == "open here"


@pytest.mark.parametrize("test", MeanTest)
def test_without_spread_no_sentence_says_better_or_worse(test: MeanTest) -> None:
    report = constant(test)
    assert "3 seeds give no interval" in report.finding
    assert not re.search(r"better|worse|significant(?!ly exceed every reference)", report.finding)


@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("form", ["markdown", "terminal"])
def test_without_spread_every_number_is_one(test: MeanTest, form: str) -> None:
    text = render(constant(test), form)
    assert not NOT_A_NUMBER.search(text)
    assert "values that do not vary over seeds give no interval" in " ".join(text.split())
