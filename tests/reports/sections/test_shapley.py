"""Shapley values of a factorial add up to the whole difference; other tables have none."""

from math import fsum

import pytest

from reports.report import build
from reports.table import Row, number
from tests.factories.reports import primary, table2
from tests.reports.test_intervals import everything


def rows(name: str, **where: object) -> list[Row]:
    (found,) = (table for table in build(everything(), primary=primary).tables if table.name == name)
    return [row for row in found.rows if all(row[key] == value for key, value in where.items())]


@pytest.mark.parametrize("metric", ["held_out_loss", "score", "docs_pair"])
def test_values_add_up_to_the_difference_of_the_arm_with_all_changes(metric: str) -> None:
    (whole,) = rows("effects", arm="both", metric=metric)
    values = rows("shapley", metric=metric)
    assert [row["factor"] for row in values] == ["heads=2", "width=128"]
    assert fsum(number(row["delta"]) or 0.0 for row in values) == pytest.approx(whole["delta"])
    assert fsum(number(row["share"]) or 0.0 for row in values) == pytest.approx(1.0)
    assert all(row["low"] < row["delta"] < row["high"] for row in values)  # type: ignore[operator]


def test_arms_that_are_no_factorial_have_no_values() -> None:
    assert "shapley" not in {table.name for table in build(table2(), primary=primary).tables}
