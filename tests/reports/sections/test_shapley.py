"""Shapley values of a factorial add up to the whole difference; other tables have none."""

from math import fsum

import pytest

from reports.formats import render
from reports.report import build
from reports.sections.shapley import WHOLE
from reports.table import Row, number
from tests.factories.reports import Trial, primary, snapshot, table2
from tests.reports.test_intervals import ARMS, everything


def rows(name: str, **where: object) -> list[Row]:
    (found,) = (table for table in build(everything(), primary=primary).tables if table.name == name)
    return [row for row in found.rows if all(row[key] == value for key, value in where.items())]


@pytest.mark.parametrize("metric", ["held_out_loss", "score", "docs_pair"])
def test_values_add_up_to_the_difference_of_the_arm_with_all_changes(metric: str) -> None:
    (whole,) = rows("effects", arm="both", metric=metric)
    *values, total = rows("shapley", metric=metric)
    assert [row["factor"] for row in values] == ["heads=2", "width=128"]
    assert (total["factor"], total["share"]) == (WHOLE, 1.0)
    assert [total[key] for key in ("delta", "low", "high")] == pytest.approx(
        [whole[key] for key in ("delta", "low", "high")]
    )
    assert fsum(number(row["delta"]) or 0.0 for row in values) == pytest.approx(whole["delta"])
    assert fsum(number(row["share"]) or 0.0 for row in values) == pytest.approx(1.0)
    assert all(row["low"] < row["delta"] < row["high"] for row in values)  # type: ignore[operator]


def test_arms_that_are_no_factorial_have_no_values() -> None:
    assert "shapley" not in {table.name for table in build(table2(), primary=primary).tables}


def test_a_whole_that_may_be_zero_has_no_shares() -> None:
    losses = {"baseline": 6.0, "two": 5.0, "narrow": 7.0, "both": 6.001}
    trials = [
        Trial(arm, seed).pretrained(loss + 0.01 * (seed * (place + 1) % 3))
        for place, (arm, loss) in enumerate(losses.items())
        for seed in (1, 2, 3)
    ]
    report = build(snapshot(trials, ARMS), primary=primary)
    (found,) = (each for each in report.tables if each.name == "shapley")
    *values, whole = [row for row in found.rows if row["metric"] == "held_out_loss"]
    assert [row["share"] for row in [*values, whole]] == [None, None, None]
    assert fsum(number(row["delta"]) or 0.0 for row in values) == pytest.approx(number(whole["delta"]))
    assert "No shares on held-out loss: the interval of all changes together contains 0" in render(report, "markdown")
