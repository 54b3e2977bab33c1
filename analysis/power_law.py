"""Learning curves as power laws with a floor: value(t) = floor + scale * t^-exponent.

Hestness et al. 2017, arXiv 1712.00409, section 3.

At a fixed exponent the law is linear in floor and scale: `regress` fits it by weighted, ridged linear regression at
every exponent of a grid at once. `PowerLaw` averages the regressions of one curve over a fine grid by their marginal
likelihood, with a flat prior on floor and scale, and keeps draws of what is not known.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

from foundation.randomness import stream

EXPONENTS = np.geomspace(0.03, 2.0, 160)
EARLIEST_SHARE = 0.05
"""Points before this share of what has been seen are left out: the first steps follow another law."""
FEWEST_POINTS = 5
DRAWS = 2000

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


@dataclass(frozen=True)
class PowerLaw:
    """Draws of the law, each with the weight 1: floor, scale at the last point seen, exponent."""

    last: float
    floors: Points
    scales: Points
    exponents: Points
    noise: Points
    """What a single measurement is off by."""

    @classmethod
    def fit(cls, at: Points, values: Points, name: str) -> Self | None:
        """Return the law of falling values, None where there are too few points; `name` names the random stream."""
        kept = at >= EARLIEST_SHARE * at.max() if len(at) else np.array([], dtype=bool)
        at, values = at[kept], values[kept]
        if len(at) < FEWEST_POINTS:
            return None
        last = float(at.max())
        fits = regress(values[None, :], np.ones((1, len(at))), powers(at / last, EXPONENTS))
        centre, scale = fits.centre[:, 0], fits.scale[:, 0]
        squares = len(at) * fits.power_variance[:, 0]  # the determinant of the normal equations is n times this
        residual = (fits.residuals[:, 0] ** 2).sum(axis=1)
        residual = np.maximum(residual, 1e-18 + 1e-12 * float(values @ values))
        degrees = len(at) - 2
        log_weight = -degrees / 2 * np.log(residual) - np.log(squares) / 2
        log_weight = np.where(scale >= 0, log_weight, log_weight - 1e3)  # a rising law only where none falls
        weight = np.exp(log_weight - log_weight.max())
        random = stream(0, f"power law {name}")
        chosen = random.choice(len(EXPONENTS), size=DRAWS, p=weight / weight.sum())
        spread = np.sqrt(residual[chosen] / random.chisquare(degrees, DRAWS))
        covariance = np.array(
            [[1 / len(at) + centre**2 / squares, -centre / squares], [-centre / squares, 1 / squares]]
        )
        factor = np.linalg.cholesky(np.moveaxis(covariance, -1, 0))[chosen]
        noise = spread[:, None] * (factor @ random.normal(size=(DRAWS, 2, 1)))[..., 0]
        off = spread * random.normal(size=DRAWS)
        floor = fits.level[0] - scale * centre
        return cls(last, floor[chosen] + noise[:, 0], scale[chosen] + noise[:, 1], EXPONENTS[chosen], off)

    def at(self, tokens: Points) -> Float[np.ndarray, "draws n"]:
        """Return the values at numbers of tokens, a row per draw."""
        fallen = (tokens / self.last) ** -self.exponents[:, None]
        return np.asarray(self.floors[:, None] + self.scales[:, None] * fallen)
