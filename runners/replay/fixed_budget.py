"""A fixed budget per candidate: every candidate is trained to the same share of a training.

So et al. 2019 (arXiv 1901.11117) compare progressive dynamic hurdles with such searches. At equal cost a small
share trains more candidates, and compares them earlier.
"""

from collections.abc import Iterator

import numpy as np

from runners.replay.simulation import ROUNDING, Action, Policy, View


def fixed_budget(share: float) -> Policy:
    """Return the policy that trains one candidate after the other to the first point at or after a share."""

    def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
        points = int(np.searchsorted(view.costs, share - ROUNDING)) + 1
        for candidate in range(len(view.reached)):
            yield Action(candidate, points)

    return moves
