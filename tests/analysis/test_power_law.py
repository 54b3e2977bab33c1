"""Power-law regressions agree with numpy's weighted least squares; draws agree with the closed-form posterior."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.power_law import DRAWS, PowerLaw, powers, regress

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


def test_draws_have_the_posterior_spread_of_a_regression() -> None:
    """At one's own exponent, the value at the last point has the standard error of a fitted value."""
    random = np.random.default_rng(3)
    at = np.arange(1, 41, dtype=float)
    values = 2 + 3 * at**-0.5 + random.normal(0, 0.02, 40)
    law = PowerLaw.fit(at, values, "curve")
    assert law is not None
    kept = at >= 0.05 * 40
    found = law.at(np.array([20.0]))[:, 0]
    assert len(found) == DRAWS
    fitted = regress(values[None, kept], np.ones((1, kept.sum())), powers(at[kept] / 40, np.array([0.5])))
    error = np.sqrt((fitted.residuals**2).sum() / (kept.sum() - 2) / kept.sum())
    assert 0.8 * error < found.std() < 2.5 * error  # the exponent is not known either
    assert found.mean() == pytest.approx(2 + 3 * 20**-0.5, abs=0.02)
