"""Rungs of successive halving: how far candidates train before they are compared. Jamieson and Talwalkar 2016."""

import numpy as np
from numpy.typing import NDArray

from runners.replay.simulation import View

ETA = 3  # Li et al. 2018, Hyperband: a rung keeps a third


def rung_points(view: View, eta: int = ETA) -> tuple[int, ...]:
    """Return the points at the rungs: the first, then each `eta` times as costly, at last the end."""
    costs, rungs, target = view.costs, [1], float(view.costs[0]) * eta
    while target < 1.0:
        rungs.append(int(np.searchsorted(costs, target * (1 - 1e-9))) + 1)
        target *= eta
    return tuple(sorted({*rungs, len(costs)}))


def value_at(view: View, candidate: int, points: int) -> float:
    """Return the value at a rung; infinite where the candidate diverged before it."""
    return float(view.observed[candidate, points - 1]) if view.reached[candidate] >= points else np.inf


def best_first(view: View, candidates: NDArray[np.int64] | list[int], points: int) -> list[int]:
    """Return the candidates by their value at a rung, the best first, without those that diverged; ties by number."""
    values = {int(candidate): value_at(view, int(candidate), points) for candidate in candidates}
    return sorted((each for each in values if np.isfinite(values[each])), key=lambda each: (values[each], each))
