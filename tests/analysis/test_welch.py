"""Welch's test and the distributions that tests need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steeplechase.analysis.distributions import chi_squared_quantile, t_p, t_quantile, t_upper
from steeplechase.analysis.effects import against_first, contrasts, stacked, wider
from steeplechase.analysis.estimates import Estimates, moments

VALUE = st.integers(-400, 400).map(lambda value: value / 16)
SAMPLE = st.lists(VALUE, min_size=2, max_size=8)


@given(SAMPLE, SAMPLE)
def test_two_arms_are_scipys_welch(first: list[float], second: list[float]) -> None:
    found = against_first(moments(padded(second, first)))
    if len(set(first)) == 1 and len(set(second)) == 1:
        assert np.isnan(found.p()).all()
        return
    oracle = stats.ttest_ind(first, second, equal_var=False)
    bounds = oracle.confidence_interval(0.9)
    assert found.p() == pytest.approx([oracle.pvalue], rel=1e-6)
    assert found.degrees == pytest.approx([oracle.df])
    low, high = found.interval(0.1)
    assert (low[0], high[0]) == pytest.approx((bounds.low, bounds.high), rel=1e-6, abs=1e-9)
    one_sided = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    assert found.p_above() == pytest.approx([one_sided.pvalue], rel=1e-6)


def padded(*samples: list[float]) -> np.ndarray:
    """Return samples as rows of one length, NaN where there is no value."""
    longest = max(map(len, samples))
    return np.array([[*sample, *[np.nan] * (longest - len(sample))] for sample in samples], dtype=np.float64)


def test_missing_seeds_and_arms() -> None:
    arms = moments(padded([1.0, 2.0, 4.0], [2.0], [3.0, 5.0], []))
    found = against_first(arms)
    assert np.isnan(found.p()).tolist() == [True, False, True]
    alone = contrasts(arms, np.array([[-1.0, 0.0, 1.0, 0.0]]))
    assert alone.p() == found.p()[1:2]


def test_tables_are_computed_cell_by_cell() -> None:
    values = np.random.default_rng(0).normal(size=(7, 4, 3))
    whole = against_first(moments(values))
    for table in range(7):
        one = against_first(moments(values[table]))
        assert one.p() == pytest.approx(whole.p()[table])


DEGREES = st.floats(0.5, 2000)


ERROR = st.floats(0.1, 9)


@given(st.lists(st.tuples(VALUE, ERROR, st.floats(1, 60), ERROR, st.floats(1, 60)), min_size=1))
def test_of_two_tests_of_one_value_both_reject_or_none(cells: list[tuple[float, ...]]) -> None:
    value, error, degrees, error_beside, degrees_beside = np.array(cells).T
    one, other = Estimates(value, error, degrees), Estimates(value, error_beside, degrees_beside)
    both = wider(one, other)
    by_cell = stacked([both[index : index + 1] for index in range(len(cells))])
    for found in (both, wider(other, one), by_cell):
        assert found.p() == pytest.approx(np.maximum(one.p(), other.p()))
        assert found.p_above(1.0) == pytest.approx(np.maximum(one.p_above(1.0), other.p_above(1.0)))
        assert found.p_below(1.0) == pytest.approx(np.maximum(one.p_below(1.0), other.p_below(1.0)))
        for alpha in (0.05, 0.001):
            low, high = found.interval(alpha)
            assert low == pytest.approx(np.minimum(one.interval(alpha)[0], other.interval(alpha)[0]))
            assert high == pytest.approx(np.maximum(one.interval(alpha)[1], other.interval(alpha)[1]))
    low, high = Estimates(both.value, both.standard_error, both.degrees).interval(0.05)
    assert low == pytest.approx(both.interval(0.05)[0])
    assert high == pytest.approx(both.interval(0.05)[1])


SHARES = st.floats(1e-7, 0.999)


@given(st.floats(-60, 60).map(lambda t: round(t, 2)), DEGREES)
def test_tails_of_t_are_those_of_scipy(t: float, degrees: float) -> None:
    assert float(t_p(t, degrees)) == pytest.approx(2 * stats.t.sf(abs(t), degrees), rel=1e-9)
    assert float(t_upper(t, degrees)) == pytest.approx(stats.t.sf(t, degrees), rel=1e-9)


@given(SHARES, DEGREES)
def test_quantiles_of_t_are_those_of_scipy(p: float, degrees: float) -> None:
    assert float(t_quantile(p, degrees)) == pytest.approx(stats.t.isf(p / 2, degrees), rel=1e-7)


@given(SHARES, st.floats(1, 200))
def test_quantiles_of_chi_squared_are_those_of_scipy(share: float, degrees: float) -> None:
    assert float(chi_squared_quantile(share, degrees)) == pytest.approx(stats.chi2.ppf(share, degrees), rel=1e-8)


def test_limits_and_missing_values() -> None:
    assert t_p([0.0, np.inf, -np.inf], 4.0).tolist() == [1.0, 0.0, 0.0]
    assert t_quantile([0.0, 1.0], 4.0).tolist() == [np.inf, 0.0]
    assert np.isnan(t_p([np.nan, 1.0], [3.0, np.nan])).all()
    assert np.isnan(t_quantile([np.nan, 0.5], [3.0, np.nan])).all()
