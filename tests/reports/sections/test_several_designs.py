"""Effects of a design beside others are those of its own candidates, whatever other designs call theirs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reports.sections.factors import SECTION as FACTORS
from reports.sections.ladder import ladder_of
from reports.sections.shapley import shapley_table
from reports.statistics.results import Results
from reports.table import Row
from steeplechase.configuration.designs import Coalitions, Factorial, KeepOne, Ladder, OneFactor, Zip
from steeplechase.configuration.designs.point import PointDesign
from tests.factories.altered_ledgers import Ledger
from tests.factories.component_ledgers import results_with

LOSS = "held_out_loss"
HALVED: Mapping[str, Any] = {"bottleneck_ratio": 2}
DYNAMIC: Mapping[str, Any] = {"convolution": {"kind": "dynamic"}}
GROUPED: Mapping[str, Any] = {"feed_forward_groups": 2}
DROPPED: Mapping[str, Any] = {"recipe.dropout": 0.3}
GRID = Factorial(vary={"bottleneck_ratio": (1, 2), "feed_forward_groups": (1, 2)})
NAMED = Coalitions(components={"a": HALVED, "b": DYNAMIC})
BESIDE: dict[str, tuple[PointDesign, ...]] = {
    "more changes at the levels of a grid": (
        GRID,
        Zip(vary={"bottleneck_ratio": (2, 1), "feed_forward_groups": (2, 2), "recipe.dropout": (0.3, 0.2)}),
    ),
    "a level written otherwise": (
        Factorial(vary={"bottleneck_ratio": (1, 2), "convolution": ("none", "dynamic")}),
        OneFactor(vary={"convolution": ({"kind": "dynamic", "kernel_size": 9},)}),
    ),
    "components of the same names": (NAMED, KeepOne(components={"a": GROUPED, "b": DROPPED})),
    "a ladder of a name that means two things": (NAMED, Ladder(components={"a": HALVED, "b": DROPPED})),
}


def rows_of(results: Results) -> dict[str, Row]:
    """Return the effects on the loss, then the Shapley values."""
    factors, shares = FACTORS.content(results).tables[0], shapley_table(results)
    return {str(row.get("effect") or row["factor"]): {**row} for table in (factors, shares) for row in table.rows
            if row["metric"] == LOSS}  # fmt: skip


def means_of(results: Results, *designs: PointDesign) -> list[float]:
    """Return the mean losses of a design's arms, those of its points, in their order."""
    arms = {arm.name: arm for arm in results.arms}
    names = [point.name or "baseline" for design in designs for point in design.points(results.experiment.baseline)]
    assert {*names} <= {*arms}
    values = [results.values[name][LOSS].values() for name in names]
    return [sum(each) / len(each) for each in values]


@pytest.mark.parametrize("named", BESIDE)
def test_a_designs_effects_are_of_its_own_arms_whatever_stands_beside_it(named: str, tmp_path: Path) -> None:
    results = results_with(tmp_path, BESIDE[named])
    first, found = BESIDE[named][0], rows_of(results)
    if isinstance(first, Coalitions):
        low, (a, b, both) = results.values["baseline"][LOSS], means_of(results, first)
        none = sum(low.values()) / len(low)
    else:
        none, b, a, both = means_of(results, first)
    effects = [row["delta"] for row in found.values()][:3]
    assert effects == pytest.approx([(a + both - none - b) / 2, (b + both - none - a) / 2, both - a - b + none])
    assert found["all changes together"]["delta"] == pytest.approx(both - none)


def test_a_ladder_has_the_rungs_of_its_own_components(tmp_path: Path) -> None:
    steps = Ladder(components={"a": HALVED, "b": DYNAMIC})
    results = results_with(tmp_path, [KeepOne(components={"a": GROUPED, "b": DROPPED}), steps])
    ladder = ladder_of(results)
    assert ladder is not None
    assert [rung.arm for rung in ladder.rungs] == ["baseline", "+a", "+b"]


def without_results(ledger: Ledger) -> None:
    """Leave one arm of the grid without a trial that ended well."""
    gone = "bottleneck_ratio=2,feed_forward_groups=2"
    ledger.rows["records"] = [row for row in ledger.rows["records"] if not row["trial"].startswith(f"{gone}/")]


def test_an_effect_without_a_value_names_the_arm_that_has_none(tmp_path: Path) -> None:
    found = rows_of(results_with(tmp_path, [GRID], [without_results]))
    for row in [row for row in found.values() if "effect" in row]:
        assert row["delta"] is None
        assert row["reason"] == "needs bottleneck_ratio=2,feed_forward_groups=2, without a value of held-out loss"


OPTIONS: tuple[Any, ...] = ("none", "dynamic")
WITHOUT_EFFECTS: dict[str, tuple[PointDesign, ...]] = {
    "2 factorials": (GRID, Factorial(vary={"recipe.dropout": (0.1, 0.3), "bottleneck_ratio": (1, 4)})),
    "convolution.kernel_size is no field of every point": (
        Factorial(vary={"convolution": OPTIONS, "convolution.kernel_size": (3, 9)}),
    ),
}


@pytest.mark.parametrize("reason", WITHOUT_EFFECTS)
def test_a_factorial_without_effects_says_why(reason: str, tmp_path: Path) -> None:
    content = FACTORS.content(results_with(tmp_path, WITHOUT_EFFECTS[reason]))
    assert not content.tables[0].rows
    (note,) = content.notes_on_results
    assert note.startswith(f"The design: {reason}: no main effects and interactions are given, which ")
