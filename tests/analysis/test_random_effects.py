"""Pooling agrees with published figures of a known meta-analysis and holds the mean of few scales."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.random_effects import pooled_effect

# Log risk ratios of thirteen trials of BCG vaccine and their sampling variances (Colditz et al. 1994, JAMA 271, 698).
LOG_RATIOS = (
    *(-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861),
    *(-1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459, -0.0173),
)
VARIANCES = (
    *(0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069),
    *(0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714),
)


def test_a_known_meta_analysis() -> None:
    found = pooled_effect(LOG_RATIOS, [variance**0.5 for variance in VARIANCES])
    assert found is not None
    assert found.value == pytest.approx(-0.7141, abs=1e-3)
    assert found.between**2 == pytest.approx(0.3088, abs=2e-3)
    assert found.heterogeneity == pytest.approx(0.9212, abs=1e-3)
    assert found.low < -1.06
    assert found.high > -0.37


EFFECTS = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=6, unique=True)


@given(EFFECTS)
def test_exact_estimates_are_a_one_sample_t(effects: list[float]) -> None:
    found = pooled_effect(effects, [1e-4] * len(effects))
    assert found is not None
    oracle = stats.ttest_1samp(effects, 0.0)
    bounds = oracle.confidence_interval()
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high), rel=1e-4, abs=1e-4)
    assert found.p == pytest.approx(oracle.pvalue, rel=1e-4)
    assert found.value == pytest.approx(fmean(effects), abs=1e-6)


def test_agreement_by_chance_gives_no_more_than_the_errors_allow() -> None:
    found = pooled_effect([0.1, 0.1, 0.1], [0.3, 0.3, 0.3])
    assert found is not None
    assert found.between == 0
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 2) * 0.3 / 3**0.5)


@pytest.mark.parametrize("between", [0.0, 0.5, 2.0])
def test_the_interval_holds_the_mean_of_three_scales(between: float) -> None:
    random = np.random.default_rng(8)
    held = []
    for _ in range(500):
        errors = random.uniform(0.3, 1.5, 3)
        effects = 1 + between * random.normal(size=3) + errors * random.normal(size=3)
        found = pooled_effect(effects.tolist(), errors.tolist())
        assert found is not None
        held.append(found.low <= 1 <= found.high)
    assert np.mean(held) >= 0.95 - 3 * (0.05 * 0.95 / 500) ** 0.5


def test_too_few_scales_and_errors_of_zero() -> None:
    assert pooled_effect([1.0], [0.2]) is None
    with pytest.raises(ValueError, match="standard error"):
        pooled_effect([1.0, 2.0], [0.2, 0.0])
