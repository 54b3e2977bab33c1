"""Searches on the tabulated space: the table is whole, and the documentation has the numbers of the comparisons."""

import csv
import json
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import pytest
from scipy.stats import kendalltau

from reports.number_format import signed
from tests.factories.paths import ROOT

CURVES = ROOT / "curves"
TEXT = (ROOT / "docs" / "tabulated_space.md").read_text(encoding="utf-8")
SECTION = TEXT.split("## What the searches found", 1)[1].split("\n## ", 1)[0]
COMPARISONS = ("hurdles", "tournament", "first_population")
TABLES = ("evolved_structures", "evolved_structures_second")


def rows_of(table: str, comparison: str) -> Iterator[dict[str, str]]:
    path = CURVES / table / comparison / "tables" / "results.csv"
    with path.open(encoding="utf-8", newline="") as file:
        yield from (row for row in csv.DictReader(file) if row["measure"] == "chosen_final")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_the_documentation_has_every_row_of_a_comparison(table: str, comparison: str) -> None:
    for row in rows_of(table, comparison):
        assert row["n"] == "20"
        delta, low, high = (
            signed(float(row[column]), 3) if row[column] else "" for column in ("delta", "low", "high")
        )
        interval = f"{delta} [{low}, {high}]" if delta else "–"
        assert f"| {float(row['mean']):.3f} ± {float(row['sd']):.3f} | {interval} |" in SECTION


def ends_of(table: str) -> dict[str, float]:
    """Return the final loss of every architecture of a table, by its point."""
    points: dict[str, str] = {}
    ends: dict[str, float] = {}
    for line in (CURVES / f"{table}.jsonl").read_text(encoding="utf-8").splitlines()[1:]:
        point = json.loads(line)
        if "config" in point:
            points[point["candidate"]] = json.dumps(point["config"], sort_keys=True)
        ends[points[point["candidate"]]] = point["value"]
    return ends


def test_the_second_table_repeats_the_first() -> None:
    first, second = map(ends_of, TABLES)
    assert first.keys() == second.keys()
    apart = [abs(first[point] - second[point]) for point in first]
    tau = kendalltau([first[point] for point in first], [second[point] for point in first]).statistic
    expected = [
        f"differ by {median(apart):.5f} nats in the median and by {max(apart):.3f} at most",
        f"{sum(each > 0.1 for each in apart)} of them by more than 0.1; Kendall's tau of the two is {tau:.2f}",
    ]
    assert [text for text in expected if text not in " ".join(SECTION.split())] == []


def test_the_table_has_every_architecture_at_the_same_steps() -> None:
    lines = [json.loads(line) for line in (CURVES / "evolved_structures.jsonl").read_text().splitlines()]
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in lines[1:]:
        curves.setdefault(line["candidate"], []).append((line["step"], line["value"]))
    assert len(curves) == 240
    assert len({tuple(step for step, _ in curve) for curve in curves.values()}) == 1
    assert all(first < second for first, second in pairwise(step for step, _ in curves["baseline"]))
    ends = sorted(curve[-1][1] for curve in curves.values())
    assert f"The lowest final loss is {ends[0]:.3f} nats, the median {(ends[119] + ends[120]) / 2:.3f}" in " ".join(
        SECTION.split()
    )
    assert f"{sum(end < 4.4 for end in ends)} architectures end below 4.4" in " ".join(SECTION.split())
