"""Observations of a search's candidates, updated incrementally: the cost of a decision does not grow with time.

Forecasts and first values are arrays over all candidates, of which an action changes one element; spreads are those
of the candidates started last.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.learning_curve import extrapolate, spread_of
from runners.replay.simulation import Numbers, View

Indices = NDArray[np.int64]

FIRST_LOOK_COST = 0.04  # of a training
TWO_POINTS_COST = 0.11  # up to this cost a first look takes two points, as the first may precede training
RECENT_STARTS = 500  # latest started candidates, from which spreads are estimated
WORST = float(np.finfo(np.float64).max)


class CandidateStates:
    """Forecast, first value and progress of every candidate of a view; smaller is better."""

    def __init__(self, view: View) -> None:
        self.view, self.end = view, len(view.costs)
        self.first_look_points = points_of_first_look(view.costs)
        self.best_seen = np.inf
        self.forecast = np.full(len(view.reached), np.inf)
        """Forecasts of final values [candidates]; the value if finished, infinite if unobserved or diverged."""
        self.paused_forecast = self.forecast.copy()
        """The forecast of candidates that can be resumed, else infinite [candidates]."""
        self.first_values = np.full(len(view.reached), np.inf)
        """Value at the first look [candidates]; infinite if not started, the largest float if diverged."""
        self.started_count = 0
        self._started = np.zeros(len(view.reached), dtype=np.int64)
        self._next = 0

    @property
    def started(self) -> Indices:
        """The started candidates, in starting order."""
        return self._started[: self.started_count]

    @property
    def paused(self) -> Indices:
        """The candidates that can be resumed, in random order."""
        return np.asarray(np.flatnonzero(np.isfinite(self.paused_forecast)))

    @property
    def next_unstarted(self) -> int | None:
        """The next candidate to start, in random order; None if all were started."""
        return self._next if self._next < len(self._started) else None

    @property
    def finished(self) -> Indices:
        """The candidates trained to the end without divergence, in starting order."""
        ended = self.started[self.view.reached[self.started] == self.end]
        return np.asarray(ended[np.isfinite(self.forecast[ended])])

    @cached_property
    def costs(self) -> Numbers:
        """Cost up to each point, after a leading 0 [points + 1]."""
        return np.concatenate([[0.0], self.view.costs])

    def start(self, candidate: int) -> None:
        """Mark a candidate as started."""
        self._started[self.started_count] = candidate
        self.started_count += 1
        self.first_values[candidate] = np.nan  # started, not observed yet
        while self._next < len(self._started) and not np.isinf(self.first_values[self._next]):
            self._next += 1

    def update(self, candidate: int) -> tuple[Numbers, bool]:
        """Update after an action; return the candidate's values and whether it finished with a finite value."""
        points = int(self.view.reached[candidate])
        seen = self.view.observed[candidate, :points]
        finite = bool(np.isfinite(seen[-1]))
        done = finite and points == self.end
        self.best_seen = min(self.best_seen, float(seen.min()))
        if np.isnan(self.first_values[candidate]):
            self.first_values[candidate] = seen[min(self.first_look_points, points) - 1] if finite else WORST
        self.forecast[candidate] = self._forecast(candidate, points) if finite else np.inf
        self.paused_forecast[candidate] = np.inf if done else self.forecast[candidate]
        return seen, done

    def first_value_spread(self) -> float:
        """Return the robust spread of first values."""
        first_values = self.first_values[self.started[-RECENT_STARTS:]]
        return spread_of(first_values[first_values < WORST])

    def _forecast(self, candidate: int, points: int) -> float:
        recent = self.started[-RECENT_STARTS:]
        latest = self.view.observed[recent, np.maximum(self.view.reached[recent] - 1, 0)]
        curve = self.view.observed[candidate : candidate + 1]
        mean, _ = extrapolate(curve, np.array([points]), spread_of(latest))
        return float(mean[0])


def points_of_first_look(costs: Numbers) -> int:
    """Return the points of a first look: those within `FIRST_LOOK_COST`, or two if they are cheap."""
    within = int(np.searchsorted(costs, FIRST_LOOK_COST + 1e-9, side="right"))
    return max(within, 2 if len(costs) > 1 and costs[1] <= TWO_POINTS_COST else 1)
