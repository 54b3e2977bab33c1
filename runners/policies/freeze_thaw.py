"""Greedy freeze-thaw without features: continue the candidate with the best log-linear forecast, or start another.

A simple form of Swersky et al. 2014, arXiv 1406.3896, with a straight line through the values against log cost in
place of a Gaussian process: a baseline for better policies.
"""

import numpy as np

from runners.policies.policy import Action, Numbers, View

START_EVERY = 3  # actions per new candidate
FIRST_POINTS = 2  # points, so that there is a slope


class FreezeThaw:
    """Implements Policy: starts a candidate in every third action, else continues the best forecast by a point."""

    def __init__(self, view: View, generator: np.random.Generator) -> None:
        self._view = view
        self._forecast = np.full(len(view.reached), np.inf)
        """Forecast of the last value [candidates]; infinite if not started or diverged."""
        self._started, self._turn = 0, 0

    def next_action(self) -> Action | None:
        """Return the next action, None if no candidate is open."""
        view, end = self._view, len(self._view.costs)
        unfinished = np.where((view.reached < end) & ~view.in_training, self._forecast, np.inf)
        best = int(np.argmin(unfinished))
        any_open = bool(np.isfinite(unfinished[best]))
        starts = self._started < len(view.reached) and (self._turn % START_EVERY == 0 or not any_open)
        if not starts and not any_open:
            return None
        candidate = self._started if starts else best
        self._started, self._turn = self._started + starts, self._turn + 1
        return Action(candidate, min(FIRST_POINTS, end) if starts else int(view.reached[candidate]) + 1)

    def observe(self, candidate: int) -> None:
        """Update the forecast of a candidate."""
        seen = self._view.observed[candidate, : self._view.reached[candidate]]
        finite = bool(np.isfinite(seen).all())
        self._forecast[candidate] = log_linear_end(seen, self._view.costs) if finite else np.inf


def log_linear_end(seen: Numbers, costs: Numbers) -> float:
    """Return the value at the last point by a least-squares line through the values against log cost."""
    latest = float(seen[-1])
    return latest + min(slope_of(seen, costs), 0.0) * float(np.log(costs[-1] / costs[len(seen) - 1]))


def slope_of(seen: Numbers, costs: Numbers) -> float:
    """Return the least-squares slope of the later half of the values, at least two, against log cost; 0 for one."""
    if len(seen) < 2:
        return 0.0
    first = len(seen) // 2 - 1
    x, y = np.log(costs[first : len(seen)]), seen[first:]
    deviation = x - x.mean()
    return float(deviation @ y / (deviation @ deviation))
