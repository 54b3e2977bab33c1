"""The distributions for real degrees of freedom agree with scipy's and with the closed form for whole ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.distributions import chi_squared_quantile, f_quantile, t_p, t_quantile, t_upper

DEGREES = st.floats(0.5, 2000)
SHARES = st.floats(1e-7, 0.999)


@given(st.floats(-60, 60).map(lambda t: round(t, 2)), DEGREES)
def test_tails_of_t_are_those_of_scipy(t: float, degrees: float) -> None:
    assert float(t_p(t, degrees)) == pytest.approx(2 * stats.t.sf(abs(t), degrees), rel=1e-9)
    assert float(t_upper(t, degrees)) == pytest.approx(stats.t.sf(t, degrees), rel=1e-9)


@given(SHARES, DEGREES)
def test_quantiles_of_t_are_those_of_scipy(p: float, degrees: float) -> None:
    assert float(t_quantile(p, degrees)) == pytest.approx(stats.t.isf(p / 2, degrees), rel=1e-7)


@given(SHARES, st.floats(1, 200), st.floats(1, 200))
def test_quantiles_of_f_and_chi_squared_are_those_of_scipy(share: float, first: float, second: float) -> None:
    assert float(f_quantile(share, first, second)) == pytest.approx(stats.f.ppf(share, first, second), rel=1e-8)
    assert float(chi_squared_quantile(share, first)) == pytest.approx(stats.chi2.ppf(share, first), rel=1e-8)


def test_limits_and_missing_values() -> None:
    assert t_p([0.0, np.inf, -np.inf], 4.0).tolist() == [1.0, 0.0, 0.0]
    assert t_quantile([0.0, 1.0], 4.0).tolist() == [np.inf, 0.0]
    assert np.isnan(t_p([np.nan, 1.0], [3.0, np.nan])).all()
    assert np.isnan(t_quantile([np.nan, 0.5], [3.0, np.nan])).all()
