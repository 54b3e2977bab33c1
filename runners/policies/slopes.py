"""How far slopes can be believed: forecasts of paused curves, and what came true of earlier ones.

A forecast is the last value, plus a trust b times the slope against log cost times the log cost still to come.
b = 1 loses where bad candidates fall steeply towards a floor that good ones are below; b = 0 loses where slopes tell
which candidate will win. b is therefore learned: the least-squares factor between the falls that earlier forecasts
predicted, at b = 1, and those that came true.
"""

import numpy as np
from numpy.typing import NDArray

from runners.policies.freeze_thaw import slope_of
from runners.policies.policy import Numbers, View


class Slopes:
    """Last value and slope of every candidate of a view, and the trust in slopes."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.best = np.full(len(view.reached), np.inf)
        """The best value of each candidate [candidates]; infinite if there is none."""
        self._last = np.full(len(view.reached), np.inf)
        """The last value of candidates that can be continued, else infinite [candidates]."""
        self._slopes = np.zeros(len(view.reached))
        self._earlier: dict[int, list[tuple[int, float, float]]] = {}
        """Points, value and slope of each candidate at its earlier observations."""
        self._product, self._square = 0.0, 0.0

    @property
    def open(self) -> NDArray[np.int64]:
        """The candidates that can be continued now."""
        return np.flatnonzero(np.isfinite(self._last) & ~self._view.in_training)

    @property
    def trust(self) -> float:
        """The learned b, between 0 and 1; 1 before any forecast could be compared."""
        return float(np.clip(self._product / self._square, 0.0, 1.0)) if self._square > 0 else 1.0

    def forecasts(self, candidates: NDArray[np.int64], trust: float) -> Numbers:
        """Return the forecast last value of candidates that can be continued."""
        costs = self._view.costs
        still = np.log(costs[-1] / costs[self._view.reached[candidates] - 1])
        return np.asarray(self._last[candidates] + trust * self._slopes[candidates] * still)

    def observe(self, candidate: int) -> None:
        """Update a candidate after a training, and the trust by its earlier forecasts."""
        costs, points = self._view.costs, int(self._view.reached[candidate])
        seen = self._view.observed[candidate, :points]
        self.best[candidate] = seen.min()
        last = float(seen[-1])
        if not np.isfinite(last) or points == len(costs):
            self._last[candidate] = np.inf
        else:
            self._last[candidate] = last
            self._slopes[candidate] = min(slope_of(seen, costs), 0.0)
        if not np.isfinite(last):
            return
        earlier = self._earlier.setdefault(candidate, [])
        for at, value, slope in earlier:
            predicted, fall = slope * float(np.log(costs[points - 1] / costs[at - 1])), min(last - value, 0.0)
            self._product += predicted * fall
            self._square += predicted * predicted
        earlier.append((points, last, float(self._slopes[candidate])))
