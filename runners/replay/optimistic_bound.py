"""Whether a candidate may still win: the most hopeful reading of its curve against the best value seen.

A falling curve that bends upwards never falls faster than its tangent, so the line through its last half, carried to
the end, is the best that can come of it. Curves that fall late are not so bound; for them a candidate is granted half
as much again as the largest fall that another candidate went through after the same point.
"""

import numpy as np
from numpy.typing import NDArray

from runners.replay.simulation import Numbers, View

FEW_POINTS = 3  # fewer have no slope that noise has not made
FURTHEST = 64  # others that are looked at, those that came furthest: a decision stays in milliseconds
MORE_THAN_OTHERS = 1.5  # a fall may be so many times the largest that others went through


def may_still_win(view: View, candidate: int, started: NDArray[np.int64], best_seen: float) -> bool:
    """Return whether the candidate's end may lie below the best value seen; the finished and diverged have none."""
    points = int(view.reached[candidate])
    seen = view.observed[candidate, :points]
    if points == len(view.costs) or not np.isfinite(seen[-1]):
        return False
    if points < FEW_POINTS:
        return True
    fall = max(_along_tangent(seen, view.costs), MORE_THAN_OTHERS * _largest_later_fall(view, started, points))
    return bool(seen[-1] - fall < best_seen)


def _along_tangent(seen: Numbers, costs: Numbers) -> float:
    """Return how far the line through the last half of the points falls until the end, one standard error steeper."""
    window = max(FEW_POINTS, len(seen) // 2)
    values, times = seen[-window:] - seen[-window:].mean(), costs[len(seen) - window : len(seen)]
    times = times - times.mean()
    slope = float(times @ values / (times @ times))
    residual = values - slope * times
    error = float(np.sqrt((residual @ residual) / max(window - 2, 1) / (times @ times)))
    return max(error - slope, 0.0) * float(1.0 - costs[len(seen) - 1])


def _largest_later_fall(view: View, started: NDArray[np.int64], points: int) -> float:
    """Return the largest fall of any candidate from this many points to its lowest later value; 0 without one."""
    further = started[view.reached[started] > points]
    if not len(further):
        return 0.0
    if len(further) > FURTHEST:
        further = further[np.argpartition(-view.reached[further], FURTHEST)[:FURTHEST]]
    later = view.observed[further, points:]
    lowest = np.where(np.isnan(later), np.inf, later).min(axis=1)
    falls = view.observed[further, points - 1] - lowest
    finite = falls[np.isfinite(falls)]
    return float(max(finite.max(), 0.0)) if len(finite) else 0.0
