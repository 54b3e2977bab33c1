"""Main effects and interactions: planted effects are recovered and agree with ordinary least squares."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.report import Report, build
from reports.table import Row
from search_space.overrides import applied
from steeplechase.commands.publish import PUBLISHED
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
    """Return the report of arms with levels, without some points of the design."""
    vary = design["vary"]
    arms: dict[str, dict[str, Any]] = {}
    levels: dict[str, dict[str, Any]] = {}
    trials = []
    for point in points:
        name = "baseline" if not any(point) else "".join(map(str, point))
        levels[name] = {path: values[one] for (path, values), one in zip(vary.items(), point, strict=True)}
        arms[name] = {path: levels[name][path] for path, one in zip(vary, point, strict=True) if one}
        trials += [Trial(name, seed).pretrained(loss(point, seed)) for seed in SEEDS]
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
