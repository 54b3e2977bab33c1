"""Power of t tests for an effect in standard errors and any degrees of freedom, and the minimum detectable effect.

The noncentral t distribution: the mean is normal and the sample standard deviation s is independent of it, so the
power is the chance of a small enough s, averaged over the mean. Johnson, Kotz and Balakrishnan 1995, "Continuous
Univariate Distributions" 2, chapter 31.

The minimum detectable effect is what a two-sided t test at the deciding level detects with 80% power. The level is
the one at which a cell is compared: alpha over the number of hypotheses at Holm's first step, or
`Simultaneous.level`. The standard deviation is estimated, and its interval (chi-squared with the same degrees of
freedom, which for Welch's t are approximate) scales the effect: with 2 degrees the true one lies between 0.52 and 6.3
times the estimate.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.distributions import chi_squared_below, chi_squared_quantile, t_quantile

POWER = 0.8
MOST_SEEDS = 100
ROUNDING = 1e-14
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
FAR = 9.0
"""Standard deviations beyond which a normal mean has no weight."""


def power_of_t(shift: float, degrees: float, alpha: float = ALPHA) -> float:
    """Return the chance that a two-sided t test is significant for a true value of `shift` standard errors."""
    quantile = float(t_quantile(alpha, degrees))
    return sum(_chance_of_spread(-shift, quantile, degrees, *piece) for piece in ((-FAR, -shift), (-shift, FAR)))


def power_of_t_within(low: float, high: float, degrees: float, alpha: float = ALPHA) -> float:
    """Return the chance that the interval at 1 - alpha lies within bounds, in standard errors from the true value."""
    quantile, middle = float(t_quantile(alpha, degrees)), (low + high) / 2
    pieces = ((low, low, middle), (high, middle, high))
    return sum(_chance_of_spread(bound, quantile, degrees, *piece) for bound, *piece in pieces)


@lru_cache(maxsize=1024)
def detectable_shift(degrees: float, alpha: float = ALPHA, chance: float = POWER) -> float:
    """Return the true value, in standard errors, that a two-sided t test detects with a power."""
    low, high, below, above = 0.0, 1.0, alpha - chance, power_of_t(1.0, degrees, alpha) - chance
    while above < 0:
        low, high, below, above = high, 2 * high, above, power_of_t(2 * high, degrees, alpha) - chance
    shift, kept = high, 0
    for _ in range(60):  # false position; the end that stays is halved (Illinois, Dowell and Jarratt 1971)
        shift = high - above * (high - low) / (above - below)
        found = power_of_t(shift, degrees, alpha) - chance
        if abs(found) < ROUNDING:
            break
        side = 1 if found > 0 else -1
        if side > 0:
            high, above, below = shift, found, below / 2 if kept == side else below
        else:
            low, below, above = shift, found, above / 2 if kept == side else above
        kept = side
    return shift


def seeds_needed(chance: Callable[[int], float], start: int) -> int | None:
    """Return the smallest number of seeds from `start` with a power of 0.8, None if above 100."""
    if chance(MOST_SEEDS) < POWER:
        return None
    low, high = start - 1, MOST_SEEDS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high


def _chance_of_spread(bound: float, quantile: float, degrees: float, low: float, high: float) -> float:
    """Return the chance of a mean between two values with an s below its distance from `bound` over the quantile.

    The integral over the mean, by Gauss and Legendre; s is 1 in the population.
    """
    low, high = max(low, -FAR), min(high, FAR)
    if low >= high:
        return 0.0
    means = low + (NODES + 1) / 2 * (high - low)
    chances = chi_squared_below(degrees * ((means - bound) / quantile) ** 2, degrees)
    return float((WEIGHTS * np.exp(-(means**2) / 2) * chances).sum()) * (high - low) / 2 / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class DetectableEffect:
    """The effect detected with the power for the estimated standard error, and for the bounds of its interval."""

    value: float
    low: float
    high: float


def detectable_effect(standard_error: float, degrees: float, level: float) -> DetectableEffect | None:
    """Return the detectable effect at a two-sided level, with its 95% interval; None where there is no test."""
    if not (standard_error > 0 and degrees > 0 and level > 0):
        return None
    value = standard_error * detectable_shift(degrees, level, POWER)
    small, large = (degrees / chi_squared_quantile([1 - ALPHA / 2, ALPHA / 2], degrees)) ** 0.5
    return DetectableEffect(value, value * float(small), value * float(large))
