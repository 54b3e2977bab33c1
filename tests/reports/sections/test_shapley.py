"""Shapley values of a factorial, of sets of components and of random orders add up to the whole difference."""

from math import fsum
from pathlib import Path
from typing import Any

import pytest

from reports.formats import render
from reports.report import build
from reports.sections.shapley import SECTION, WHOLE, shapley_table
from reports.statistics.results import Results
from reports.table import Row, number
from steeplechase.configuration.designs import Coalitions, KeepOne, LeaveOneOut, ListDesign
from steeplechase.configuration.designs.point import PointDesign
from tests.factories.component_ledgers import EFFECTS, TOGETHER, results_with
from tests.factories.read_reports import rows_of
from tests.factories.reports import Trial, primary, snapshot, table2
from tests.reports.test_intervals import ARMS, everything


@pytest.mark.parametrize("metric", ["held_out_loss", "score", "docs_pair"])
def test_values_add_up_to_the_difference_of_the_arm_with_all_changes(metric: str) -> None:
    report = build(everything(), primary=primary)
    (whole,) = rows_of(report, "effects", arm="both", metric=metric)
    *values, total = rows_of(report, "shapley", metric=metric)
    assert [row["factor"] for row in values] == ["heads=2", "width=128"]
    assert (total["factor"], total["share"]) == (WHOLE, 1.0)
    assert [total[key] for key in ("delta", "low", "high")] == pytest.approx(
        [whole[key] for key in ("delta", "low", "high")]
    )
    assert fsum(number(row["delta"]) or 0.0 for row in values) == pytest.approx(whole["delta"])
    assert fsum(number(row["share"]) or 0.0 for row in values) == pytest.approx(1.0)
    assert all(row["low"] < row["delta"] < row["high"] for row in values)


def test_arms_that_are_no_factorial_have_no_values() -> None:
    assert not rows_of(build(table2(), primary=primary), "shapley")


def test_a_whole_that_may_be_zero_has_no_shares() -> None:
    losses = {"baseline": 6.0, "two": 5.0, "narrow": 7.0, "both": 6.001}
    trials = [
        Trial(arm, seed).pretrained(loss + 0.01 * (seed * (place + 1) % 3))
        for place, (arm, loss) in enumerate(losses.items())
        for seed in (1, 2, 3)
    ]
    report = build(snapshot(trials, ARMS), primary=primary)
    *values, whole = rows_of(report, "shapley", metric="held_out_loss")
    assert [row["share"] for row in [*values, whole]] == [None, None, None]
    assert fsum(number(row["delta"]) or 0.0 for row in values) == pytest.approx(number(whole["delta"]))
    assert "No shares on held-out loss: the interval of all changes together contains 0" in render(report, "markdown")


PARTS: dict[str, dict[str, Any]] = {
    "bottleneck": {"bottleneck_ratio": 2},
    "convolution": {"convolution": "span_dynamic"},
    "groups": {"feed_forward_groups": 2},
    "deep": {"depth": 3},
}
THREE = {name: PARTS[name] for name in ("bottleneck", "convolution", "groups")}
FIVE = {**PARTS, "before": {"normalisation": "pre_norm"}}
WIDE = {"bottleneck_ratio": 2, "convolution": {"kind": "span_dynamic", "kernel_size": 15}}
TRUTH = {
    "bottleneck": EFFECTS["bottleneck_ratio"] + TOGETHER / 2,
    "convolution": EFFECTS["convolution"] + TOGETHER / 2,
    "groups": EFFECTS["feed_forward_groups"],
}
COMPLETE: dict[str, tuple[PointDesign, ...]] = {
    "every set": (Coalitions(components=THREE),),
    "leave one out and keep one": (LeaveOneOut(components=THREE), KeepOne(components=THREE)),
    "beside other arms": (
        ListDesign(arms={"wide": WIDE, "deep": {"depth": 3}}),
        KeepOne(components=THREE),
        LeaveOneOut(components=THREE),
    ),
}


def losses(results: Results) -> dict[str, Row]:
    rows = shapley_table(results).rows
    return {str(row["factor"]): row for row in rows if row["metric"] == "held_out_loss"}


@pytest.mark.parametrize("named", COMPLETE)
def test_every_set_of_components_gives_values_whichever_designs_declare_them(named: str, tmp_path: Path) -> None:
    found = losses(results_with(tmp_path, COMPLETE[named]))
    assert [*found] == [*THREE, WHOLE]
    for name, truth in TRUTH.items():
        assert found[name]["delta"] == pytest.approx(truth, abs=0.06)
    assert fsum(number(found[name]["delta"]) or 0.0 for name in THREE) == pytest.approx(found[WHOLE]["delta"])


@pytest.mark.parametrize(
    "designs",
    [
        (LeaveOneOut(components=PARTS), KeepOne(components=PARTS)),
        (KeepOne(components=THREE), ListDesign(arms={"wide": WIDE})),
    ],
)
def test_without_every_set_of_components_there_are_no_values(
    designs: tuple[PointDesign, ...], tmp_path: Path
) -> None:
    assert not shapley_table(results_with(tmp_path, designs)).rows


@pytest.mark.parametrize("seed", [1, 2])
def test_values_over_random_orders_add_up_and_the_report_says_how_many_orders(seed: int, tmp_path: Path) -> None:
    results = results_with(tmp_path, [Coalitions(components=FIVE, orders=6, seed=seed)])
    found = losses(results)
    assert [*found] == [*FIVE, WHOLE]
    assert fsum(number(found[name]["delta"]) or 0.0 for name in FIVE) == pytest.approx(found[WHOLE]["delta"])
    (shown,) = SECTION.content(results).grids
    assert shown.title.endswith("averaged over 6 random orders of adding them")
    assert "the spread between the random orders added" in " ".join(shown.every_note)
