"""Successive halving by cohort (`top_fraction`): all train to a rung, the best third goes on.

Jamieson and Talwalkar 2016, Non-stochastic Best Arm Identification and Hyperparameter Optimization.

Cohorts follow each other until the budget is spent. A cohort has as many candidates as leave one at the last rung.
"""

from collections.abc import Iterator

import numpy as np

from runners.replay.rungs import ETA, best_first, rung_points
from runners.replay.simulation import Action, View


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Run one cohort after the other."""
    rungs = rung_points(view)
    size = ETA ** (len(rungs) - 1)
    for first in range(0, len(view.reached), size):
        yield from halving(view, list(range(first, min(first + size, len(view.reached)))), rungs)


def halving(view: View, cohort: list[int], rungs: tuple[int, ...]) -> Iterator[Action]:
    """Train a cohort to each rung in turn and keep the best third, at least one."""
    for points in rungs:
        for candidate in cohort:
            yield Action(candidate, points)
        cohort = best_first(view, cohort, points)[: max(len(cohort) // ETA, 1)]
