"""The gain of pairing is the ratio over all pairs of arms, its interval is scipy's F, and holds in simulation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steeplechase.analysis.variance_components import pairing_gain

SHAPES = st.tuples(st.integers(2, 6), st.integers(2, 6), st.integers(0, 1000))


@given(SHAPES)
def test_the_ratio_is_that_of_the_variances_over_all_pairs(shape: tuple[int, int, int]) -> None:
    arms, seeds, start = shape
    values = np.random.default_rng(start).normal(size=(arms, seeds)).cumsum(axis=0)
    found = pairing_gain(values)
    assert found is not None
    pairs = list(combinations(values, 2))
    paired = sum(np.var(a - b, ddof=1) for a, b in pairs)
    unpaired = sum(np.var(a, ddof=1) + np.var(b, ddof=1) for a, b in pairs)
    assert found.ratio == pytest.approx(paired / unpaired)
    assert found.low < found.ratio < found.high


def test_the_interval_is_that_of_scipys_f() -> None:
    values = np.random.default_rng(1).normal(size=(4, 5)) + np.arange(5)
    found = pairing_gain(values)
    assert found is not None
    f = (4 / found.ratio) - 3
    low, high = (4 / (f / stats.f.ppf(tail, 4, 12) + 3) for tail in (0.025, 0.975))
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_interval_holds_the_true_ratio(correlation: float) -> None:
    random = np.random.default_rng(3)
    shared = correlation**0.5 * random.normal(size=(400, 1, 3))
    values = shared + (1 - correlation) ** 0.5 * random.normal(size=(400, 5, 3))
    found = [pairing_gain(table) for table in values]
    held = np.mean([one is not None and one.low <= 1 - correlation <= one.high for one in found])
    assert held >= 0.95 - 3 * (0.05 * 0.95 / 400) ** 0.5


def test_without_spread_or_seeds_there_is_no_ratio() -> None:
    assert pairing_gain(np.ones((3, 3))) is None
    assert pairing_gain(np.array([[1.0, 1.0], [2.0, 2.0]])) is None  # arms differ, their seeds do not
    assert pairing_gain(np.array([[1.0, np.nan], [np.nan, 2.0]])) is None
    same = pairing_gain(np.array([[1.0, 2.0, 4.0], [2.0, 3.0, 5.0]]))
    assert same is not None
    assert (same.ratio, same.low, same.high) == (0.0, 0.0, 0.0)
