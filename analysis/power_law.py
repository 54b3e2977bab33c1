"""Learning curves as power laws with a floor: value(t) = floor + scale * t^-exponent.

Hestness et al. 2017, arXiv 1712.00409, section 3. At a fixed exponent the law is linear in floor and scale: `regress`
fits it by weighted, ridged linear regression at every exponent of a grid at once.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "n"]
PerExponent = Float[np.ndarray, "exponents curves"]


def powers(steps: Points, exponents: Points) -> Float[np.ndarray, "exponents n"]:
    """Return steps^-exponent, and for the exponent 0 its limit up to shift and scale, the negative logarithm."""
    logarithms = np.log(steps)
    return np.asarray(np.where(exponents[:, None] == 0, -logarithms, np.exp(-exponents[:, None] * logarithms)))


@dataclass(frozen=True)
class Regressions:
    """Curves regressed on each of several powers of the steps: value = level + scale * (power - centre)."""

    level: Float[np.ndarray, "curves"]  # noqa: F821
    """The weighted mean of a curve's values."""
    centre: PerExponent
    """The weighted mean of the powers."""
    power_variance: PerExponent
    scale: PerExponent
    residuals: Float[np.ndarray, "exponents curves n"]
    """What the values are off by; 0 where the weight is 0."""


def regress(
    values: Float[np.ndarray, "curves n"],
    weights: Float[np.ndarray, "curves n"],
    basis: Float[np.ndarray, "exponents n"],
    ridge: Float[np.ndarray, "curves"] | float = 0.0,  # noqa: F821
) -> Regressions:
    """Return the weighted least-squares fit of every curve on every power; `ridge` adds to the power's variance."""
    total = np.maximum(weights.sum(axis=1), 1e-12)
    level = (weights * values).sum(axis=1) / total
    centre = basis @ weights.T / total
    from_centre = basis[:, None, :] - centre[..., None]
    weighted = weights * from_centre
    covariance = (weighted * (values - level[:, None])).sum(axis=-1) / total
    variance = (weighted * from_centre).sum(axis=-1) / total
    scale = covariance / (variance + ridge)
    residuals = np.where(weights > 0, values - level[:, None] - scale[..., None] * from_centre, 0.0)
    return Regressions(level, centre, variance, scale, residuals)
