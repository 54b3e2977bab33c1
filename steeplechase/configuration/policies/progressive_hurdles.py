"""Progressive Dynamic Hurdles: a child trains on while it is better than the members that have trained longest.

So et al. 2019, arXiv 1901.11117, section 4.
"""

from collections.abc import Sequence
from typing import ClassVar

from steeplechase.configuration.policies.policy import Policy, Tournament


class ProgressiveHurdles(Policy):
    """A hurdle at every rung, each set after so many finished children."""

    kind: ClassVar[str] = "progressive_hurdles"
    has_hurdles: ClassVar[bool] = True

    def points(self, shares: Sequence[float], settings: Tournament) -> tuple[int, ...]:
        """Return every point."""
        return (*range(1, len(shares) + 1),)

    def trains_to_the_end(self, settings: Tournament) -> bool:
        """Return that some children stop before."""
        return False

    def most_finished(self, trainings: float, shares: Sequence[float], settings: Tournament, asked: int) -> float:
        """Return the full trainings that are left when every hurdle is set."""
        each = _children(settings)
        left = trainings - sum((each - 1) * shares[0] + share for share in shares)
        return min(asked - each * len(shares), left)

    def limit(self, trainings: float, rungs: int, settings: Tournament) -> str:
        """Return how many children the hurdles take, and the budget."""
        return (
            f"{_children(settings)} children set each of {rungs} hurdles, and the budget has {trainings:g} "
            "full trainings"
        )


def _children(settings: Tournament) -> int:
    return settings.children_per_hurdle or settings.population


POLICY = ProgressiveHurdles()
