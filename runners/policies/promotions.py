"""Promotions of asynchronous successive halving. Li et al. 2020, arXiv 1810.05934, algorithm 2.

A candidate is promoted from the highest rung at which it is among the best 1/η of all candidates that have passed.
Which policy trained a candidate past a rung does not matter.
"""

import bisect
from collections.abc import Sequence

import numpy as np

from runners.policies.policy import Action, View


class Promotions:
    """Ranks candidates at the rungs, which are points before the end of a training."""

    def __init__(self, view: View, rungs: Sequence[int], reduction_factor: int) -> None:
        self._view, self._rungs, self._factor = view, [*rungs, len(view.costs)], reduction_factor
        self._ranked: list[list[tuple[float, int]]] = [[] for _ in self._rungs]
        """Value and candidate at each rung, the best first."""
        self._waiting: list[list[tuple[float, int]]] = [[] for _ in rungs]
        """The ranked candidates that have not passed the next rung, the best first."""
        self._passed = np.zeros(len(view.reached), dtype=np.int64)
        """Number of rungs at which a candidate is ranked [candidates]."""

    def next_action(self) -> Action | None:
        """Return a promotion, None if there is none now."""
        for rung in reversed(range(len(self._waiting))):
            best = len(self._ranked[rung]) // self._factor
            for entry in self._waiting[rung]:
                if not best or entry > self._ranked[rung][best - 1]:
                    break
                if not self._view.in_training[entry[1]]:
                    return Action(entry[1], self._rungs[rung + 1])
        return None

    def observe(self, candidate: int) -> None:
        """Rank a candidate at the rungs that it has passed; a diverged one is ranked last at its next rung."""
        points, first = int(self._view.reached[candidate]), int(self._passed[candidate])
        values = self._view.observed[candidate]
        for rung in range(first, len(self._rungs)):
            at = min(points, self._rungs[rung])
            entry = (float(values[at - 1]), candidate)
            diverged = not np.isfinite(entry[0])
            if at < self._rungs[rung] and not diverged:
                break
            bisect.insort(self._ranked[rung], entry)
            self._passed[candidate] = rung + 1
            if rung:
                lower = (float(values[self._rungs[rung - 1] - 1]), candidate)
                del self._waiting[rung - 1][bisect.bisect_left(self._waiting[rung - 1], lower)]
            if diverged:
                break
            if rung < len(self._waiting):
                bisect.insort(self._waiting[rung], entry)
