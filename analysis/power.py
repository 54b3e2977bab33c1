"""Power of the paired t test: smallest detectable effect for a number of pairs, and pairs for a given effect.

The noncentral t distribution: given the sample standard deviation s, the mean is normal, so the power is an average
over s. Johnson, Kotz and Balakrishnan 1995, "Continuous Univariate Distributions" 2, chapter 31.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from jaxtyping import Float

from analysis.paired import ALPHA
from analysis.students_t import two_sided_quantile

POWER = 0.8
MOST_SEEDS = 100
QUADRATURE = 300
"""Number of equal-probability bins of s, each represented by its median."""

_POINTS = np.linspace(-9, 9, 9001)
_NORMAL = (_POINTS, np.array([math.erfc(-z / math.sqrt(2)) / 2 for z in _POINTS]))


def power(effect: float, sd: float, pairs: int, alpha: float = ALPHA) -> float:
    """Return the chance that a paired t test of `pairs` tells a true mean difference from 0."""
    if pairs < 2:
        return 0.0
    if sd == 0:
        return float(effect != 0)
    shift, bar = abs(effect) / sd * pairs**0.5, two_sided_quantile(1 - alpha, pairs - 1)
    bars = bar * _spreads(pairs - 1)
    return float(np.mean(_normal(shift - bars) + _normal(-shift - bars)))


def power_within(effect: float, margin: float, sd: float, pairs: int, alpha: float = ALPHA) -> float:
    """Return the chance that the interval of a true mean difference lies within plus and minus the margin."""
    if pairs < 2:
        return 0.0
    if sd == 0:
        return float(abs(effect) <= margin)
    unit, bar = pairs**0.5 / sd, two_sided_quantile(1 - alpha, pairs - 1)
    bars = bar * _spreads(pairs - 1)
    inside = _normal((margin - effect) * unit - bars) - _normal((-margin - effect) * unit + bars)
    return float(np.mean(np.maximum(0.0, inside)))


def smallest_effect(sd: float, pairs: int, alpha: float = ALPHA) -> float | None:
    """Return the smallest true difference with a power of 0.8 for `pairs`; None below two."""
    return sd * _standardised(pairs, alpha) if pairs > 1 else None


def seeds_needed(chance: Callable[[int], float], start: int) -> int | None:
    """Return the smallest number of seeds from `start` with a power of 0.8, None if above 100."""
    if chance(MOST_SEEDS) < POWER:
        return None
    low, high = start - 1, MOST_SEEDS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high


@cache
def _standardised(pairs: int, alpha: float) -> float:
    """Return the true difference with a power of 0.8, in standard deviations of the differences."""
    low, high = 0.0, 1.0
    while power(high, 1.0, pairs, alpha) < POWER:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle, 1.0, pairs, alpha) < POWER else (low, middle)
    return high


def _normal(z: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:  # noqa: F821
    """Return the normal distribution function, exact to one in a million."""
    return np.asarray(np.interp(z, *_NORMAL))


@cache
def _spreads(degrees: int) -> Float[np.ndarray, "n"]:  # noqa: F821
    """Return equally likely values of s for a true value of 1: quantiles of sqrt(chi2 / degrees)."""
    grid = np.linspace(1e-6, 1 + 8 / math.sqrt(degrees), 2001)
    log_density = (degrees - 1) * np.log(grid) - degrees * grid * grid / 2
    density = np.exp(log_density - log_density.max())
    cumulated = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])  # trapezoidal rule
    middles = (np.arange(QUADRATURE) + 0.5) / QUADRATURE
    return np.interp(middles, cumulated / cumulated[-1], grid)
