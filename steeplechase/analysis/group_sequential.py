"""Group-sequential tests: each planned look spends a share of the error, and the shares sum to 1.

If look k rejects at p <= share_k x alpha, the probability of any false rejection is at most the sum of these bounds,
alpha: Bonferroni's inequality, for any dependence between the looks and any rule for another look. So p / share is a
valid p value, and 1 - share x alpha the level of the interval.
"""

from dataclasses import dataclass

LAST_SHARE = 0.5
"""Share of the error for the last look; earlier looks, with little power at few seeds, share the rest evenly."""


@dataclass(frozen=True)
class Looks:
    """The numbers of seeds at which an arm is tested, increasing."""

    counts: tuple[int, ...]

    def share(self, seeds: int) -> float:
        """Return the share of the error at a number of seeds: that of the last completed look."""
        if len(self.counts) < 2:
            return 1.0
        return LAST_SHARE if seeds >= self.counts[-1] else (1 - LAST_SHARE) / (len(self.counts) - 1)
