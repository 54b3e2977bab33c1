"""The detectable effect has a power of 80% at the deciding level, and its interval is that of the deviation."""

import numpy as np
import pytest
from scipy import stats

from analysis.detectable import detectable_effect


def scipy_power(shift: float, degrees: float, level: float) -> float:
    bar = stats.t.isf(level / 2, degrees)
    return float(stats.nct.sf(bar, degrees, shift) + np.nan_to_num(stats.nct.cdf(-bar, degrees, shift)))


@pytest.mark.parametrize("degrees", [2, 2.7, 4, 6.35, 14])
@pytest.mark.parametrize("level", [0.05, 0.05 / 10])
def test_the_power_is_four_fifths(degrees: float, level: float) -> None:
    found = detectable_effect(1.0, degrees, level)
    assert found is not None
    assert scipy_power(found.value, degrees, level) == pytest.approx(0.8, abs=1e-9)
    low, high = (degrees / stats.chi2.ppf([0.975, 0.025], degrees)) ** 0.5
    assert (found.low / found.value, found.high / found.value) == pytest.approx((low, high), rel=1e-6)


@pytest.mark.parametrize(("cells", "standard_deviations"), [(1, 3.26), (5, 7.32), (10, 10.4), (16, 13.1)])
def test_three_paired_seeds_under_holms_first_step(cells: int, standard_deviations: float) -> None:
    found = detectable_effect(1 / 3**0.5, 2, 0.05 / cells)
    assert found is not None
    assert found.value == pytest.approx(standard_deviations, rel=5e-3)


def test_without_a_test_there_is_none() -> None:
    assert detectable_effect(1.0, 4, 0.0) is None
    assert detectable_effect(np.nan, 4, 0.05) is None
    assert detectable_effect(0.0, 4, 0.05) is None
