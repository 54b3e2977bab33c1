"""Looking at results more than once: each planned look may spend a share of the error, and the shares sum to 1.

If at look k an arm counts as told apart where p <= share_k x alpha, the chance that it ever does without a difference
is at most the sum of these bounds, alpha: Bonferroni's inequality, whatever decides to look again and however the
looks depend on each other. So p / share is a p value in its own right, and 1 - share x alpha the interval's level.
"""

from dataclasses import dataclass

LAST_SHARE = 0.5
"""Of the error, for the last look; the earlier ones share the rest evenly, as with few seeds they see little."""


@dataclass(frozen=True)
class Looks:
    """The numbers of seeds at which an arm is looked at, rising."""

    counts: tuple[int, ...]

    def share(self, seeds: int) -> float:
        """Return the share of the error that may be spent at so many seeds: of the last look that they complete."""
        if len(self.counts) < 2:
            return 1.0
        return LAST_SHARE if seeds >= self.counts[-1] else (1 - LAST_SHARE) / (len(self.counts) - 1)


ONE_LOOK = Looks(())
