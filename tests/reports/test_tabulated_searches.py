"""Searches on the tabulated space: the table is whole, and the documentation has the numbers of the comparisons."""

import csv
import json
from collections.abc import Iterator
from itertools import pairwise

import pytest

from reports.number_format import signed
from tests.factories.paths import ROOT

CURVES = ROOT / "curves"
TEXT = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
SECTION = TEXT.split("### What the searches found", 1)[1].split("\n## ", 1)[0]
COMPARISONS = ("hurdles", "tournament", "first_population")


def rows_of(comparison: str) -> Iterator[dict[str, str]]:
    path = CURVES / "evolved_structures" / comparison / "tables" / "results.csv"
    with path.open(encoding="utf-8", newline="") as file:
        yield from (row for row in csv.DictReader(file) if row["measure"] == "chosen_final")


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_the_documentation_has_every_row_of_a_comparison(comparison: str) -> None:
    for row in rows_of(comparison):
        assert row["n"] == "20"
        delta, low, high = (
            signed(float(row[column]), 3) if row[column] else "" for column in ("delta", "low", "high")
        )
        interval = f"{delta} [{low}, {high}]" if delta else "–"
        assert f"| {float(row['mean']):.3f} ± {float(row['sd']):.3f} | {interval} |" in SECTION


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
