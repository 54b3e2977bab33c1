"""Asynchronous successive halving with promotion. Li et al. 2020, arXiv 1810.05934, algorithm 2.

A free worker promotes a candidate where that is possible (`promotions.py`), else it starts the next one to the first
rung. The stopping form, which never resumes, is the hurdle `asha`.
"""

import numpy as np

from runners.policies.hurdle_settings import REDUCTION_FACTOR, geometric_points
from runners.policies.policy import Action, View
from runners.policies.promotions import Promotions


class PromotingAsha:
    """Implements Policy."""

    def __init__(self, view: View, generator: np.random.Generator) -> None:
        rungs = geometric_points(view.costs)
        self._promotions = Promotions(view, rungs, REDUCTION_FACTOR)
        self._candidates, self._started = len(view.reached), 0
        self._first_points = rungs[0] if rungs else len(view.costs)

    def next_action(self) -> Action | None:
        """Return a promotion or a start, None if neither is possible."""
        promotion = self._promotions.next_action()
        if promotion is not None or self._started == self._candidates:
            return promotion
        self._started += 1
        return Action(self._started - 1, self._first_points)

    def observe(self, candidate: int) -> None:
        """Rank the candidate's values at the rungs that it has passed."""
        self._promotions.observe(candidate)
