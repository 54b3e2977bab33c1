"""A fixed budget per candidate: every candidate is trained to the same share of a training.

So et al. 2019 (arXiv 1901.11117) compare progressive dynamic hurdles with such searches. At equal cost a small
share trains more candidates, and compares them earlier. With the whole training it is random search (Bergstra and
Bengio 2012), since candidates are numbered in random order.
"""

import numpy as np

from runners.policies.policy import ROUNDING, Action, PolicyFactory, View


class FixedBudget:
    """Implements Policy: one candidate after the other, to the first point at or after a share of a training."""

    def __init__(self, view: View, share: float) -> None:
        self._candidates, self._started = len(view.reached), 0
        self._points = int(np.searchsorted(view.costs, share - ROUNDING)) + 1

    def next_action(self) -> Action | None:
        """Return the training of the next candidate, None after the last one."""
        if self._started == self._candidates:
            return None
        self._started += 1
        return Action(self._started - 1, self._points)

    def observe(self, candidate: int) -> None:
        """Do nothing: the order does not depend on results."""


def fixed_budget(share: float) -> PolicyFactory:
    """Return the policy that trains every candidate to the same share of a training."""
    return lambda view, generator: FixedBudget(view, share)
