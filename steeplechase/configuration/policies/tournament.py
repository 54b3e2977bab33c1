"""Tournament selection without early stopping: every child gets the same share of a training.

So et al. 2019, arXiv 1901.11117, section 4, without its hurdles.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar

from steeplechase.configuration.policies.policy import ROUNDING, Policy, Tournament


class PlainTournament(Policy):
    """One point at which every child stops."""

    kind: ClassVar[str] = "tournament"

    def points(self, shares: Sequence[float], settings: Tournament) -> tuple[int, ...]:
        """Return the first point with the share."""
        return (min(bisect_left(shares, settings.trained_share - ROUNDING) + 1, len(shares)),)

    def trains_to_the_end(self, settings: Tournament) -> bool:
        """Return whether the share is the whole training."""
        return settings.trained_share == 1

    def most_finished(self, trainings: float, shares: Sequence[float], settings: Tournament, asked: int) -> float:
        """Return the budget; nothing where children stop at a rung."""
        stops_before = bool(shares) and settings.trained_share <= shares[-1] + ROUNDING
        return 0 if stops_before else min(asked, trainings)

    def limit(self, trainings: float, rungs: int, settings: Tournament) -> str:
        """Return the share of a training, or the budget."""
        if settings.trained_share < 1:
            return f"{self.kind} trains each to a share of {settings.trained_share:g}"
        return f"the budget of the policy has {trainings:g} full trainings"


POLICY = PlainTournament()
