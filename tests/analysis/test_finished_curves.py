"""Forecasts from finished curves: exact where the others tell all, chosen by left-out error, silent with too few."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.finished_curves import METHODS, Run, choice, choose, conformal_reach, left_out_errors

POINTS, SEEN = 8, 6
SUMS = np.linspace(0.2, 1.0, POINTS)


def run(arm: str, losses: np.ndarray) -> Run:
    return Run(arm, losses)


def family(count: int, noise: float, seed: int = 0, slope: float = 1.0) -> list[Run]:
    """Return curves of one shape at several levels; the end is `slope` times the level below it."""
    chance = np.random.default_rng(seed)
    found = []
    for place in range(count):
        level = chance.normal(3, 0.3)
        found.append(run(f"arm {place // 3}", level - 0.5 * slope * level * SUMS + chance.normal(0, noise, POINTS)))
    return found


@given(st.floats(0.5, 3), st.floats(-5, 5))
def test_units_and_offsets_of_the_loss_pass_through(unit: float, offset: float) -> None:
    runs = family(12, 0.01)
    scaled = [Run(each.group, unit * each.losses + offset) for each in runs]
    for name in ("same fall", "regression"):
        fitted, other = METHODS[name](runs, SEEN), METHODS[name](scaled, SEEN)
        assert fitted is not None
        assert other is not None
        assert other(scaled[0].losses) == pytest.approx(unit * fitted(runs[0].losses) + offset, abs=1e-6)


def test_the_regression_is_exact_where_ends_are_a_line_of_values_and_is_chosen_there() -> None:
    runs = family(9, 0.0)
    fitted = METHODS["regression"](runs, SEEN)
    assert fitted is not None
    assert fitted(runs[4].losses) == pytest.approx(runs[4].end)
    chosen = choose(runs, SEEN)
    assert chosen is not None
    assert chosen.name == "regression"


def test_a_fall_that_all_share_is_the_best_forecast_of_noisy_curves() -> None:
    chance = np.random.default_rng(2)
    runs = [run(str(n), 3 - SUMS + chance.normal(0, 0.3) + chance.normal(0, 1e-6, POINTS)) for n in range(9)]
    errors = left_out_errors(METHODS["same fall"], runs, SEEN)
    assert errors is not None
    assert max(map(abs, errors)) < 1e-5


def test_an_arm_is_forecast_without_its_own_seeds() -> None:
    runs = [run(f"arm {n // 3}", 3 - SUMS * (1 + (n // 3 == 2))) for n in range(9)]
    errors = left_out_errors(METHODS["same fall"], runs, SEEN)
    assert errors is not None
    assert errors[6:] == pytest.approx([1 - SUMS[SEEN - 1]] * 3)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.floats(0.05, 0.95))
def test_the_reach_holds_the_share_by_rank_or_is_none(errors: list[float], coverage: float) -> None:
    reach = conformal_reach(errors, coverage)
    needed = math.ceil(coverage * (len(errors) + 1) - 1e-9)
    assert (reach is None) == (needed > len(errors))
    if reach is not None:
        assert sum(abs(error) <= reach for error in errors) >= needed


def test_nine_curves_are_the_fewest_for_nine_in_ten() -> None:
    assert conformal_reach([0.1] * 8, 0.9) is None
    assert conformal_reach([0.1] * 9, 0.9) == 0.1


def test_without_another_arm_there_is_no_forecast() -> None:
    assert choose([], SEEN) is None
    assert choose(family(3, 0.01), SEEN) is None  # one arm alone


@pytest.mark.parametrize("count", [12, 30])
def test_intervals_hold_nine_in_ten_new_curves(count: int) -> None:
    inside = []
    for seed in range(100):
        *runs, new = family(count + 1, 0.05, seed=seed)
        runs = [Run(str(place), each.losses) for place, each in enumerate(runs)]
        errors, fitted = left_out_errors(choice, runs, SEEN), choice(runs, SEEN)
        assert errors is not None
        assert fitted is not None
        reach = conformal_reach(errors, 0.9)
        assert reach is not None
        inside.append(abs(fitted(new.losses) - new.end) <= reach)
    assert 0.83 <= np.mean(inside) <= 0.98
