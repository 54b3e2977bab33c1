"""A difference of means over pretraining seeds, with its interval."""

from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """A difference of means with its interval; None if there are too few seeds."""

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
