"""The minimum detectable effect of the test that decides, with an interval for the error of its standard deviation.

The effect that a two-sided t test at the deciding level detects with 80% power. The level is the one at which a cell
is compared: alpha over the number of hypotheses at Holm's first step, or `Simultaneous.level`. The standard deviation
is estimated, and its interval (chi-squared with the same degrees of freedom, which for Welch's t are approximate)
scales the effect: with 2 degrees the true one lies between 0.52 and 6.3 times the estimate.
"""

from dataclasses import dataclass

from steeplechase.analysis.distributions import chi_squared_quantile
from steeplechase.analysis.power import POWER, detectable_shift


@dataclass(frozen=True)
class DetectableEffect:
    """The effect detected with the power for the estimated standard error, and for the bounds of its interval."""

    value: float
    low: float
    high: float


def detectable_effect(
    standard_error: float, degrees: float, level: float, power: float = POWER, alpha: float = 0.05
) -> DetectableEffect | None:
    """Return the detectable effect at a two-sided level, its interval at 1 - alpha; None where there is no test."""
    if not (standard_error > 0 and degrees > 0 and level > 0):
        return None
    value = standard_error * detectable_shift(degrees, level, power)
    small, large = (degrees / chi_squared_quantile([1 - alpha / 2, alpha / 2], degrees)) ** 0.5
    return DetectableEffect(value, value * float(small), value * float(large))
