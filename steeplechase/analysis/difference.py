"""A difference of means over pretraining seeds with its interval, and the test that it is decided by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

CONFIDENCE = 0.95
ALPHA = 0.05
"""The level of a test, before any correction."""

SeedValues = Mapping[int, float]
"""One value per pretraining seed."""
NestedValues = Mapping[int, Sequence[float]]
"""By pretraining seed, one value per fine-tuning seed."""


class MeanTest(StrEnum):
    """How two arms are compared over their seeds; fixed before there are results."""

    WELCH = "welch"
    """Welch's t: the difference of the means over all seeds of both arms, with unequal variances."""
    PAIRED = "paired"
    """Student's paired t over the seeds that both arms have."""


@dataclass(frozen=True)
class Difference:
    """A difference of means with its interval; None if there are too few seeds, or if they do not vary."""

    n: int = 0
    """Number of pairs; unpaired, the number of seeds of the arm that has fewer."""
    delta: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval is known and excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def two_seeds(self) -> bool:
        """Whether the interval is known and rests on two seeds: one degree of freedom, unpaired at most two."""
        return self.low is not None and self.n == 2


@dataclass(frozen=True)
class Effect:
    """One arm on one metric: number of seeds, mean, sample standard deviation, and difference to the baseline."""

    n: int
    mean: float | None
    sd: float | None
    difference: Difference
