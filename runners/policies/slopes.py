"""How far slopes can be believed: forecasts of paused curves, and what came true of earlier ones.

A forecast is the last value, plus a trust b times the fall that the slope promises. The slope is against log cost. On
a curve that falls with the power -a of its cost, a slope s at cost t promises s (1 - (t/T)^a) / a until T; a = 0 is a
straight line, s log(T/t), which promises most to the candidates that were trained least.

b = 1 loses where bad candidates fall steeply towards a floor that good ones are below; b = 0 loses where slopes tell
which candidate will win. Both are therefore learned by least squares between the falls that earlier forecasts
promised and those that came true: b for each of a few powers a, of which the one with the smallest error is taken.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runners.policies.policy import Numbers, View

POWERS = np.array([0.0, 0.25, 0.5, 1.0, 2.0])


class Belief(NamedTuple):
    """What forecasts believe of a slope."""

    trust: float
    """b, between 0 and 1."""
    power: float = 0.0
    """a, with which falls shrink."""


class Slopes:
    """Last value and slope of every candidate of a view, and the belief in slopes."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._log_costs_left = np.log(view.costs[-1] / view.costs)
        """From each point to the last [points]."""
        self.best = np.full(len(view.reached), np.inf)
        """The best value of each candidate [candidates]; infinite if there is none."""
        self._last = np.full(len(view.reached), np.inf)
        """The last value of candidates that can be continued, else infinite [candidates]."""
        self._slopes = np.zeros(len(view.reached))
        self._earlier: dict[int, list[tuple[int, float, float]]] = {}
        """Points, value and slope of each candidate at its earlier observations."""
        self._products, self._squares = np.zeros(len(POWERS)), np.zeros(len(POWERS))
        """Sums over earlier forecasts, of promised times true fall and of the promised fall squared [powers]."""

    @property
    def open(self) -> NDArray[np.int64]:
        """The candidates that can be continued now."""
        return np.flatnonzero(np.isfinite(self._last) & ~self._view.in_training)

    @property
    def learned(self) -> Belief:
        """The belief with the smallest squared error so far; full trust before any forecast could be compared."""
        if not self._squares.all():
            return Belief(1.0)
        trusts = np.clip(self._products / self._squares, 0.0, 1.0)
        errors = trusts**2 * self._squares - 2 * trusts * self._products  # less the true falls, equal for all powers
        best = int(np.argmin(errors))
        return Belief(float(trusts[best]), float(POWERS[best]))

    def forecasts(self, candidates: NDArray[np.int64], belief: Belief) -> Numbers:
        """Return the forecast last value of candidates that can be continued."""
        by_points = _shrunk(self._log_costs_left, belief.power)
        falls = self._slopes[candidates] * by_points[self._view.reached[candidates] - 1]
        return np.asarray(self._last[candidates] + belief.trust * falls)

    def observe(self, candidate: int) -> None:
        """Update a candidate after a training, and the belief by its earlier forecasts."""
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
            promised = slope * _shrunk(np.log(costs[points - 1] / costs[at - 1]), POWERS)
            self._products += promised * min(last - value, 0.0)
            self._squares += promised**2
        earlier.append((points, last, float(self._slopes[candidate])))


def _shrunk(log_cost: Numbers | float, power: Numbers | float) -> Numbers:
    """Return (1 - exp(-power log_cost)) / power, whose limit at 0 is log_cost."""
    nonzero = np.where(power == 0, 1.0, power)
    return np.where(power == 0, log_cost, -np.expm1(-nonzero * log_cost) / nonzero)


def slope_of(seen: Numbers, costs: Numbers) -> float:
    """Return the least-squares slope of the later half of the values, at least two, against log cost; 0 for one."""
    if len(seen) < 2:
        return 0.0
    first = len(seen) // 2 - 1
    x, y = np.log(costs[first : len(seen)]), seen[first:]
    deviation = x - x.mean()
    return float(deviation @ y / (deviation @ deviation))
