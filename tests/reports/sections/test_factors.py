"""Main effects and interactions: planted ones are recovered, as by least squares; their names are unique."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.report import Report, build
from reports.table import Row
from search_space.candidate import Candidate
from search_space.overrides import applied, apply
from steeplechase.commands.publish import PUBLISHED
from steeplechase.configuration.arms import ArmTable, Rules
from steeplechase.configuration.designs import Factorial, KeepOne, Ladder, LeaveOneOut, ListDesign, OneFactor
from steeplechase.configuration.designs.point import PointDesign
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.snapshot import snapshot as snapshot_of
from tests.factories.paths import ROOT
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import Trial, document, snapshot

PATHS = {"bottleneck_ratio": 2, "width": 512, "depth": 6}
SEEDS = (1, 2, 3)
NUMBERS = st.integers(-8, 8).map(lambda value: value / 16)


def rows(
    points: list[tuple[int, ...]], losses: Any, paths: dict[str, Any] | None = None, **more: Any
) -> dict[str, Row]:
    """Return the factors table of arms at points; `losses(point, seed)`."""
    known = list((paths or PATHS).items())
    arms: dict[str, dict[str, Any]] = {}
    trials = []
    for point in points:
        changes = {path: values[level - 1] if isinstance(values, list) else values
                   for (path, values), level in zip(known, point, strict=True) if level}  # fmt: skip
        name = "baseline" if not any(point) else "+".join(f"{path}{value}" for path, value in changes.items())
        arms[name] = changes
        trials += [Trial(name, seed).pretrained(losses(point, seed)) for seed in SEEDS]
    return factors_of(build(snapshot(trials, arms, resolved=document(seeds=SEEDS, **more))))


@settings(max_examples=8)
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_full_factorial_recovers_planted_effects(a: float, b: float, c: float, ab: float) -> None:
    def loss(point: tuple[int, ...], seed: int) -> float:
        x, y, z = point
        return 6 + seed / 10 + a * x + b * y + c * z + ab * x * y

    table_rows = rows(list(product((0, 1), repeat=3)), loss)
    assert len(table_rows) == 6
    assert table_rows["depth=6"]["delta"] == pytest.approx(c, abs=1e-9)
    assert table_rows["bottleneck_ratio=2"]["delta"] == pytest.approx(a + ab / 2, abs=1e-9)
    assert table_rows["bottleneck_ratio=2 x width=512"]["delta"] == pytest.approx(ab, abs=1e-9)
    assert table_rows["bottleneck_ratio=2 x depth=6"]["delta"] == pytest.approx(0, abs=1e-9)


def test_three_levels_agree_with_least_squares() -> None:
    random = np.random.default_rng(5)
    points = list(product((0, 1, 2), (0, 1)))
    noise = {(point, seed): random.normal() for point in points for seed in SEEDS}
    table_rows = rows(points, lambda point, seed: 6 + noise[point, seed], {"bottleneck_ratio": [2, 4], "width": 512})
    design = [[1, (x == 1) - 1 / 3, (x == 2) - 1 / 3, y - 0.5] for x, y in points for _ in SEEDS]
    fitted = np.linalg.lstsq(np.array(design, dtype=float), [noise[p, s] for p in points for s in SEEDS], rcond=None)[
        0
    ]
    names = ("bottleneck_ratio=2", "bottleneck_ratio=4", "width=512")
    assert [table_rows[name]["delta"] for name in names] == pytest.approx(list(fitted[1:]), abs=1e-9)


def test_intervals_are_paired_by_seed_where_that_is_declared() -> None:
    def loss(point: tuple[int, ...], seed: int) -> float:
        return 6 + 100 * seed + point[0] * (1 + seed / 1000)

    row = rows(list(product((0, 1), repeat=3)), loss, comparison="paired")["bottleneck_ratio=2"]
    assert (row["low"], row["high"]) == pytest.approx((1, 1), abs=0.01)
    row = rows(list(product((0, 1), repeat=3)), loss)["bottleneck_ratio=2"]
    assert row["degrees"] == pytest.approx(16)  # eight arms of equal variance
    assert row["low"] < 0 < row["high"]  # type: ignore[operator]


def test_the_published_bottleneck_costs_what_the_contrast_over_all_heads_shows() -> None:
    report = build(snapshot_of(read_export(ROOT / PUBLISHED / "heads-laptop")))
    of_loss = rows_of(report, "factors", metric="held_out_loss")
    (row,) = (row for row in of_loss if row["effect"] == "bottleneck_ratio=2")
    assert (row["delta"], row["low"], row["high"]) == pytest.approx((0.082, 0.058, 0.106), abs=6e-4)
    (row,) = (row for row in of_loss if row["effect"].startswith("bottleneck_ratio=4 (where both are: heads="))
    assert (row["delta"], row["low"], row["high"]) == pytest.approx((0.225, 0.172, 0.278), abs=6e-4)


def test_arms_that_are_not_crossed_have_no_table() -> None:
    assert not rows([(0, 0, 0), (1, 0, 0), (0, 1, 0)], lambda point, seed: 6.0 + seed)


FACTORIAL = {"kind": "factorial", "vary": {path: [value, PATHS[path]] for path, value in
             {"bottleneck_ratio": 1, "width": 256, "depth": 12}.items()}}  # fmt: skip


def report_of_levels(points: list[tuple[int, ...]], design: dict[str, Any], loss: Any, left_out: int) -> Report:
    """Return the report of arms with levels, without some points of the design; a loss of None is not measured."""
    vary = design["vary"]
    arms: dict[str, dict[str, Any]] = {}
    levels: dict[str, dict[str, Any]] = {}
    trials = []
    for point in points:
        name = "baseline" if not any(point) else "".join(map(str, point))
        levels[name] = {path: values[one] for (path, values), one in zip(vary.items(), point, strict=True)}
        arms[name] = {path: levels[name][path] for path, one in zip(vary, point, strict=True) if one}
        values = {seed: loss(point, seed) for seed in SEEDS}
        trials += [Trial(name, seed).pretrained(value) for seed, value in values.items() if value is not None]
    view = snapshot(trials, arms, resolved=document(seeds=SEEDS, design=design, on_invalid="skip"))
    rows = tuple(
        replace(arm, levels=levels[arm.name], candidate=applied(arm.candidate, arm.changes)) for arm in view.arms
    )
    impossible = tuple((f"point {number}", "too wide") for number in range(left_out))
    return build(replace(view, arms=rows, impossible=impossible))


def factors_of(report: Report) -> dict[str, Row]:
    return {row["effect"]: row for row in rows_of(report, "factors")}


def test_a_factorial_without_a_point_reports_estimable_effects() -> None:
    points = [point for point in product((0, 1), repeat=3) if point != (1, 1, 1)]
    report = report_of_levels(points, FACTORIAL, lambda p, seed: 6 + seed / 10 + 0.5 * p[0] + 0.25 * p[0] * p[1], 1)
    table_rows = factors_of(report)
    assert table_rows["bottleneck_ratio=2"]["delta"] == pytest.approx(0.5 + 0.25 / 2)
    assert table_rows["bottleneck_ratio=2 x width=512"]["delta"] == pytest.approx(0.25)
    assert table_rows["bottleneck_ratio=2 x depth=6"]["delta"] == pytest.approx(0, abs=1e-9)
    assert all(row["reason"] is None for row in table_rows.values())
    (note_text,) = [note for note in report.notes if note.startswith("The factorial")]
    assert "1 of 8 runs are impossible and the factorial is not full" in note_text
    assert "every effect is estimable" in note_text


def test_a_factorial_without_two_points_reports_confounded_effects() -> None:
    points = [point for point in product((0, 1), repeat=3) if point not in ((1, 1, 1), (1, 1, 0))]
    report = report_of_levels(points, FACTORIAL, lambda p, seed: 6 + seed / 10 + 0.5 * p[0], 2)
    lost = [row for row in factors_of(report).values() if row["reason"]]
    assert lost
    for row in lost:
        assert (row["n"], row["delta"]) == (0, None)
        assert "is confounded with" in str(row["reason"])
    (note_text,) = [note for note in report.notes if note.startswith("The factorial")]
    assert "no longer balanced: bottleneck_ratio, width" in note_text
    assert grid_of(report, "factors interaction").columns[-1].title == "why not estimable"


def test_a_factorial_that_has_begun_says_once_which_arms_are_missing() -> None:
    points = [*product((0, 1), repeat=3)]
    report = report_of_levels(points, FACTORIAL, lambda p, seed: None if any(p) else 6 + seed / 10, 0)
    main = grid_of(report, "factors main")
    assert "why not estimable" not in [column.title for column in main.columns]
    assert [note.partition(", ")[0] for note in main.notes if "cannot" in note] == [
        "Main effects cannot be estimated: each needs 001",
        "Interactions cannot be estimated: each needs 001",
    ]
    assert all(row["reason"] for row in factors_of(report).values())


BASELINE = apply(Candidate(), {"convolution": "span_dynamic", "bottleneck_ratio": 2, "depth": 2})
AXES: dict[str, tuple[Any, ...]] = {
    "heads": (2, 4, 8),
    "convolution.kernel_size": (3, 9, 15),
    "bottleneck_ratio": (1, 2),
    "depth": (2, 3),
    "recipe.peak_learning_rate": (5e-4, 1e-3),
    "recipe.dropout": (0.1, 0.0),
}
OPTIONS = {"convolution": ("span_dynamic", "dynamic", {"kind": "dynamic", "kernel_size": 15}, "none")}
PARTS = {
    "wide": {"convolution.kernel_size": 15},
    "few": {"heads": 2, "bottleneck_ratio": 1},
    "plain": {"recipe.dropout": 0.0},
}


def report_of(designs: Iterable[PointDesign]) -> Report:
    arm_table, documents = ArmTable(BASELINE, Rules()), []
    for design in designs:
        arm_table.add_design(design, ("design",))
        documents.append(design.model_dump(mode="json"))
    assert not arm_table.violations
    arms = {arm.name: dict(arm.changes) for arm in arm_table.arms}
    trials = [
        Trial(name, seed).pretrained(6 + 0.01 * ((seed + 3 * position) * position % 7))
        for position, name in enumerate(arms)
        for seed in SEEDS
    ]
    baseline = BASELINE.model_dump(mode="json")
    resolved = document(seeds=SEEDS, design=documents, baseline=baseline)
    view = snapshot(trials, arms, resolved=resolved)
    own = {arm.name: {"levels": arm.levels, "candidate": arm.candidate} for arm in arm_table.arms}
    return build(replace(view, arms=tuple(replace(row, **own[row.name]) for row in view.arms)))


def names_of(report: Report, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in (*columns, "metric")) for row in rows_of(report, table)]


def assert_each_named_once(report: Report) -> None:
    for names in (names_of(report, "factors", "effect"), names_of(report, "isolated", "arm", "reference")):
        assert [name for name, count in Counter(names).items() if count > 1] == []
    titles = [grid.title for grid in report.grids]
    assert len(titles) == len(set(titles))


def factors_named(report: Report) -> set[str]:
    return {
        part.partition("=")[0] for effect, _ in names_of(report, "factors", "effect") for part in effect.split(" x ")
    }


axes = st.sampled_from([[first, second] for first in AXES for second in AXES if first < second])


@settings(max_examples=5)
@given(axes)
def test_a_factorial_names_every_level_of_every_axis_once(paths: list[str]) -> None:
    report = report_of([Factorial(vary={path: AXES[path] for path in paths})])
    assert_each_named_once(report)
    assert factors_named(report) == set(paths)
    mains = sum(len(AXES[path]) - 1 for path in paths)
    products = (len(AXES[paths[0]]) - 1) * (len(AXES[paths[1]]) - 1)
    assert len(names_of(report, "factors", "effect")) == mains + products
    assert {path for path, _ in names_of(report, "isolated", "path")} == set(paths)


def test_a_factorial_over_options_names_their_fields_where_two_are_of_a_kind() -> None:
    report = report_of([Factorial(vary={"heads": (2, 4), **OPTIONS})])
    assert_each_named_once(report)
    assert ("convolution=dynamic(kernel_size=15)", "held_out_loss") in names_of(report, "factors", "effect")


@pytest.mark.parametrize("names", [("wide", "few"), ("wide", "plain")])
def test_components_are_factors_by_their_own_names(names: tuple[str, ...]) -> None:
    components = {name: PARTS[name] for name in names}
    report = report_of([LeaveOneOut(components=components), KeepOne(components=components)])
    assert_each_named_once(report)
    assert [effect for effect, metric in names_of(report, "factors", "effect") if metric == "held_out_loss"] == [
        *names,
        " x ".join(names),
    ]
    assert {path for path, _ in names_of(report, "isolated", "path")} <= set(names)


@pytest.mark.parametrize("design", [LeaveOneOut, Ladder])
def test_the_effect_of_every_component_is_there_of_those_with_several_changes_too(
    design: type[LeaveOneOut] | type[Ladder],
) -> None:
    pairs = {(arm, reference): path for arm, reference, path, _ in names_of(
        report_of([design(components=PARTS)]), "isolated", "arm", "reference", "path"
    )}  # fmt: skip
    assert pairs == (
        {("full", f"without_{name}"): name for name in PARTS}
        if design is LeaveOneOut
        else {("+few", "+wide"): "few", ("+plain", "+few"): "plain"}
    )


def test_every_other_design_names_each_of_its_effects_once() -> None:
    listed = {
        "wide": {"convolution.kernel_size": 15},
        "narrow": {"convolution.kernel_size": 3},
        "two": {"heads": 2},
        "wide_two": {"convolution.kernel_size": 15, "heads": 2},
        "narrow_two": {"convolution.kernel_size": 3, "heads": 2},
    }
    as_list = report_of([ListDesign(arms=listed)])
    assert_each_named_once(as_list)
    assert factors_named(as_list) == {"heads", "convolution.kernel_size"}
    assert {path for path, _ in names_of(as_list, "isolated", "path")} == {"heads", "convolution.kernel_size"}
    for design in (
        OneFactor(vary={**AXES, **OPTIONS}),
        Ladder(components=PARTS),
        LeaveOneOut(components=PARTS),
        KeepOne(components=PARTS),
    ):
        assert_each_named_once(report_of([design]))


def test_a_main_effect_names_the_level_that_it_is_the_difference_from() -> None:
    report = report_of([Factorial(vary={"heads": (2, 4), "convolution.kernel_size": (3, 9, 15)})])
    result = {effect: against for effect, against, _ in names_of(report, "factors", "effect", "against")}
    assert result["heads=2"] == "4"
    assert result["convolution.kernel_size=3"] == result["convolution.kernel_size=15"] == "9"
    elsewhere = report_of([Factorial(vary={"heads": (2, 8), "convolution.kernel_size": (3, 15)})])
    result = {effect: against for effect, against, _ in names_of(elsewhere, "factors", "effect", "against")}
    assert (result["heads=8"], result["convolution.kernel_size=15"]) == ("2", "3")  # the baseline is not a run of it
