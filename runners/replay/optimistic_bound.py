"""An optimistic bound of a candidate's final value, compared with the best value seen.

A convex falling curve lies above its tangent, so the line through its last half, extended to the end, is a lower
bound. Curves that fall late are not convex; for them the bound is 1.5 times the largest fall of another candidate
after the same point.
"""

import numpy as np
from numpy.typing import NDArray

from runners.replay.simulation import Numbers, View

FEWEST_POINTS = 3  # with fewer the slope is noise
FURTHEST_OTHERS = 64  # other candidates compared with, those trained furthest: a decision takes milliseconds
FALL_FACTOR = 1.5  # times the largest fall of others


def may_still_be_best(view: View, candidate: int, started: NDArray[np.int64], best_seen: float) -> bool:
    """Return whether the final value may be below the best observed value; False if finished or diverged."""
    points = int(view.reached[candidate])
    seen = view.observed[candidate, :points]
    if points == len(view.costs) or not np.isfinite(seen[-1]):
        return False
    if points < FEWEST_POINTS:
        return True
    fall = max(_along_tangent(seen, view.costs), FALL_FACTOR * _largest_later_fall(view, started, points))
    return bool(seen[-1] - fall < best_seen)


def _along_tangent(seen: Numbers, costs: Numbers) -> float:
    """Return the fall until the end along a line through the last half, one standard error steeper."""
    window = max(FEWEST_POINTS, len(seen) // 2)
    values, times = seen[-window:] - seen[-window:].mean(), costs[len(seen) - window : len(seen)]
    times = times - times.mean()
    slope = float(times @ values / (times @ times))
    residual = values - slope * times
    error = float(np.sqrt((residual @ residual) / max(window - 2, 1) / (times @ times)))
    return max(error - slope, 0.0) * float(1.0 - costs[len(seen) - 1])


def _largest_later_fall(view: View, started: NDArray[np.int64], points: int) -> float:
    """Return the largest fall of any candidate from this point to its lowest later value; 0 without one."""
    further = started[view.reached[started] > points]
    if not len(further):
        return 0.0
    if len(further) > FURTHEST_OTHERS:
        further = further[np.argpartition(-view.reached[further], FURTHEST_OTHERS)[:FURTHEST_OTHERS]]
    later = view.observed[further, points:]
    lowest = np.where(np.isnan(later), np.inf, later).min(axis=1)
    falls = view.observed[further, points - 1] - lowest
    finite = falls[np.isfinite(falls)]
    return float(max(finite.max(), 0.0)) if len(finite) else 0.0
