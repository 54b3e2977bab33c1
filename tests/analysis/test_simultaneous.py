"""Simultaneous intervals exclude 0 if and only if the cell is rejected, and hold all true values together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.estimates import Estimates
from analysis.graphical import gated, holm
from analysis.simultaneous import Simultaneous, single_step, step_down

VALUES = st.lists(st.floats(-30, 30).map(lambda x: round(x, 3)), min_size=6, max_size=6)
DEGREES = st.lists(st.floats(1, 30), min_size=6, max_size=6)
PROCEDURES = [(step_down, holm(6)), (step_down, gated(3)), (single_step, holm(6))]


def estimates_of(values: list[float], degrees: list[float]) -> Estimates:
    return Estimates(np.array(values), np.ones(6), np.array(degrees))


def excludes_zero(found: Simultaneous) -> list[bool]:
    """A bound of 0 of a rejected cell is open: the one-sided hypothesis holds 0 and is rejected."""
    open_at_zero = found.rejected & ((found.low == 0) | (found.high == 0))
    return ((found.low > 0) | (found.high < 0) | open_at_zero).tolist()


@pytest.mark.parametrize(("procedure", "graph"), PROCEDURES)
@settings(max_examples=40)
@given(values=VALUES, degrees=DEGREES)
def test_zero_is_outside_if_and_only_if_rejected(procedure, graph, values, degrees) -> None:
    found = procedure(estimates_of(values, degrees), graph)
    assert excludes_zero(found) == found.rejected.tolist() == (found.adjusted_p <= 0.05).tolist()
    assert (found.low <= found.high).all()
    held = ~found.rejected
    assert ((found.low <= 0) & (found.high >= 0))[held].all()
    assert (found.sign[found.rejected] == np.sign(np.array(values))[found.rejected]).all()


@given(values=VALUES, degrees=DEGREES)
def test_the_first_step_is_holms_and_later_ones_at_most_as_generous(
    values: list[float], degrees: list[float]
) -> None:
    estimates = estimates_of(values, degrees)
    found, one = step_down(estimates, holm(6)), single_step(estimates, holm(6))
    assert (found.rejected >= one.rejected).all()
    assert (found.level >= one.level - 1e-12).all()
    assert np.nanmin(found.adjusted_p) == pytest.approx(min(1.0, 6 * estimates.p().min()), rel=1e-6)


def test_a_shut_gate_has_no_bounds_and_a_missing_test_no_p() -> None:
    values = np.array([0.1, 50.0, 40.0, 40.0])
    found = step_down(Estimates(values, np.array([1.0, 1.0, 1.0, np.nan]), np.full(4, 6.0)), gated(2))
    assert found.rejected.tolist() == [False, True, False, False]
    assert (found.low[2], found.high[2]) == (-np.inf, np.inf)
    assert found.level[2] == 0
    assert np.isnan([found.adjusted_p[3], found.low[3], found.high[3]]).all()


@pytest.mark.parametrize("truth", [(0.0,) * 5, (0.5,) * 5, (0.0, 0.0, 1.0, 6.0, 9.0)])
@pytest.mark.parametrize("procedure", [step_down, single_step])
def test_all_true_values_are_held_together(procedure, truth: tuple[float, ...]) -> None:
    random = np.random.default_rng(5)
    tables, degrees = 2000, 4.0
    z = random.normal(size=(tables, 1)) * 0.7 + random.normal(size=(tables, 5)) * 0.7
    errors = np.sqrt(random.chisquare(degrees, (tables, 5)) / degrees)
    found = procedure(Estimates(np.array(truth) + z, errors, np.full((tables, 5), degrees)), holm(5))
    held = ((found.low <= truth) & (truth <= found.high)).all(axis=1)
    assert held.mean() >= 0.95 - 3 * (0.05 * 0.95 / tables) ** 0.5


def test_a_look_spends_its_share_of_the_error() -> None:
    estimates = estimates_of([4.0, 3.0, 2.0, -1.0, 5.0, 0.1], [5.0] * 6)
    half, whole = step_down(estimates, holm(6), spent=np.full(6, 0.5)), step_down(estimates, holm(6), alpha=0.025)
    assert half.adjusted_p == pytest.approx(np.minimum(1.0, 2 * whole.adjusted_p), abs=1e-9)
    assert half.sign.tolist() == whole.sign.tolist()
    assert (half.low, half.high) == (pytest.approx(whole.low), pytest.approx(whole.high))
