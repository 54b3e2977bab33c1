"""Main effects, interactions and aliases: planted effects come back, and agree with ordinary least squares."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from building import Trial, document, snapshot
from hypothesis import given
from hypothesis import strategies as st

from reports.report import build
from reports.table import Row

PATHS = {"bottleneck_ratio": 2, "width": 512, "depth": 6}
SEEDS = (1, 2, 3)
NUMBERS = st.integers(-8, 8).map(lambda value: value / 16)


def rows(points: list[tuple[int, ...]], losses: Any, paths: dict[str, Any] | None = None) -> dict[str, Row]:
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
    (found,) = (
        t for t in build(snapshot(trials, arms, resolved=document(seeds=SEEDS))).tables if t.name == "factors"
    )
    return {str(row["effect"]): row for row in found.rows}


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_full_factorial_gives_back_what_was_planted(a: float, b: float, c: float, ab: float) -> None:
    def loss(point: tuple[int, ...], seed: int) -> float:
        x, y, z = point
        return 6 + seed / 10 + a * x + b * y + c * z + ab * x * y

    found = rows(list(product((0, 1), repeat=3)), loss)
    assert len(found) == 6
    assert found["depth=6"]["delta"] == pytest.approx(c, abs=1e-9)
    assert found["bottleneck_ratio=2"]["delta"] == pytest.approx(a + ab / 2, abs=1e-9)
    assert found["bottleneck_ratio=2 x width=512"]["delta"] == pytest.approx(ab, abs=1e-9)
    assert found["bottleneck_ratio=2 x depth=6"]["delta"] == pytest.approx(0, abs=1e-9)
    assert all(row["aliases"] is None for row in found.values())


def test_three_levels_agree_with_least_squares() -> None:
    random = np.random.default_rng(5)
    points = list(product((0, 1, 2), (0, 1)))
    noise = {(point, seed): random.normal() for point in points for seed in SEEDS}
    found = rows(points, lambda point, seed: 6 + noise[point, seed], {"bottleneck_ratio": [2, 4], "width": 512})
    design = [[1, (x == 1) - 1 / 3, (x == 2) - 1 / 3, y - 0.5] for x, y in points for _ in SEEDS]
    fitted = np.linalg.lstsq(np.array(design, dtype=float), [noise[p, s] for p in points for s in SEEDS], rcond=None)[
        0
    ]
    names = ("bottleneck_ratio=2", "bottleneck_ratio=4", "width=512")
    assert [found[name]["delta"] for name in names] == pytest.approx(list(fitted[1:]), abs=1e-9)


def test_a_half_fraction_names_its_aliases() -> None:
    half = [point for point in product((0, 1), repeat=3) if sum(point) % 2 == 0]
    found = rows(half, lambda point, seed: 6 + seed / 10 + 0.5 * point[0])
    assert found["bottleneck_ratio=2"]["delta"] == pytest.approx(0.5)
    assert found["bottleneck_ratio=2"]["aliases"] == "−depth x width"
    assert len(found) == 3


def test_intervals_are_paired_by_seed() -> None:
    found = rows(list(product((0, 1), repeat=3)), lambda point, seed: 6 + 100 * seed + point[0])
    row = found["bottleneck_ratio=2"]
    assert (row["low"], row["high"]) == pytest.approx((1, 1))


def test_arms_that_are_not_crossed_have_no_table() -> None:
    assert not rows([(0, 0, 0), (1, 0, 0), (0, 1, 0)], lambda point, seed: 6.0 + seed)
