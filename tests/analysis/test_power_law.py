"""Power-law regressions agree with numpy's weighted least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.power_law import powers, regress

EXPONENTS = np.array([0.0, 0.1, 0.5, 1.0, 2.0])


@given(st.integers(0, 2**16), st.integers(3, 20), st.sampled_from([0.0, 0.05]))
def test_regressions_agree_with_weighted_ridged_least_squares(seed: int, points: int, ridge: float) -> None:
    random = np.random.default_rng(seed)
    steps = np.arange(1, points + 1, dtype=float)
    values, weights = random.normal(size=(2, points)), random.uniform(0.5, 2.0, (2, points))
    weights[1, points // 2 + 1 :] = 0
    basis = powers(steps, EXPONENTS)
    fits = regress(values, weights, basis, ridge)
    for curve in range(2):
        root = np.sqrt(weights[curve])
        for place, power in enumerate(basis):
            centred = power - fits.centre[place, curve]
            penalty = np.sqrt(ridge * weights[curve].sum())
            design = np.vstack([np.stack([root, root * centred], axis=1), [0, penalty]])
            (level, scale), *_ = np.linalg.lstsq(design, np.append(root * values[curve], 0), rcond=None)
            assert fits.level[curve] == pytest.approx(level)
            assert fits.scale[place, curve] == pytest.approx(scale)
            expected = np.where(weights[curve] > 0, values[curve] - level - scale * centred, 0)
            assert fits.residuals[place, curve] == pytest.approx(expected, abs=1e-9)


def test_the_exponent_zero_is_the_limit_of_small_ones() -> None:
    steps = np.arange(1, 31, dtype=float)
    values = 5 - 0.7 * np.log(steps[None, :]) + np.sin(steps)
    fits = regress(values, np.ones_like(values), powers(steps, np.array([0.0, 1e-6])))
    assert fits.residuals[0] == pytest.approx(fits.residuals[1], abs=1e-4)
