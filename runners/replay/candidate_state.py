"""What a search knows of its candidates, kept so that a decision costs the same however many were started.

Promises and first looks are arrays over all candidates that one move changes in one place; whatever needs a spread
takes it from the latest of those started.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.learning_curve import extrapolate, spread_of
from runners.replay.simulation import Numbers, View

Places = NDArray[np.int64]

LOOK_COST = 0.04  # of a training: a first look takes so much
LOOK_OF_TWO = 0.11  # up to this cost it takes two points, for there may be nothing to see before training began
RECENT = 500  # of those started, the latest: whom spreads are taken from
WORST = float(np.finfo(np.float64).max)


class CandidateState:
    """Promise, first look and progress of every candidate of a view; smaller promises are better."""

    def __init__(self, view: View) -> None:
        self.view, self.end = view, len(view.costs)
        self.look = first_look(view.costs)
        self.best_seen = np.inf
        self.promise = np.full(len(view.reached), np.inf)
        """Forecast of the end [candidates], the end of those who are there; infinite unseen or diverged."""
        self.open_promise = self.promise.copy()
        """The same of those who can be carried on, else infinite [candidates]."""
        self.looks = np.full(len(view.reached), np.inf)
        """Value at the first look [candidates]; infinite not started, the largest number diverged."""
        self.count = 0
        self._started = np.zeros(len(view.reached), dtype=np.int64)
        self._next = 0

    @property
    def started(self) -> Places:
        """Who was started, in that order."""
        return self._started[: self.count]

    @property
    def opened(self) -> Places:
        """Who can be carried on, in the order of drawing."""
        return np.asarray(np.flatnonzero(np.isfinite(self.open_promise)))

    @property
    def fresh(self) -> int | None:
        """The next in the order of drawing that was not started."""
        return self._next if self._next < len(self._started) else None

    @property
    def finished(self) -> Places:
        """Who was trained to the end and did not diverge, in the order of starting."""
        ended = self.started[self.view.reached[self.started] == self.end]
        return np.asarray(ended[np.isfinite(self.promise[ended])])

    @cached_property
    def costs(self) -> Numbers:
        """Cost up to each point, a 0 for none before them [points + 1]."""
        return np.concatenate([[0.0], self.view.costs])

    def start(self, candidate: int) -> None:
        """Note that a candidate is about to be started."""
        self._started[self.count] = candidate
        self.count += 1
        self.looks[candidate] = np.nan  # started, not yet seen
        while self._next < len(self._started) and not np.isinf(self.looks[self._next]):
            self._next += 1

    def take_in(self, candidate: int) -> tuple[Numbers, bool]:
        """Take in what a move has shown; return the candidate's values and whether it is at its end, finite."""
        points = int(self.view.reached[candidate])
        seen = self.view.observed[candidate, :points]
        alive = bool(np.isfinite(seen[-1]))
        done = alive and points == self.end
        self.best_seen = min(self.best_seen, float(seen.min()))
        if np.isnan(self.looks[candidate]):
            self.looks[candidate] = seen[min(self.look, points) - 1] if alive else WORST
        self.promise[candidate] = self._forecast(candidate, points) if alive else np.inf
        self.open_promise[candidate] = np.inf if done else self.promise[candidate]
        return seen, done

    def spread_of_looks(self) -> float:
        """Return how far apart the first looks of those started are."""
        looks = self.looks[self.started[-RECENT:]]
        return spread_of(looks[looks < WORST])

    def _forecast(self, candidate: int, points: int) -> float:
        recent = self.started[-RECENT:]
        latest = self.view.observed[recent, np.maximum(self.view.reached[recent] - 1, 0)]
        curve = self.view.observed[candidate : candidate + 1]
        mean, _ = extrapolate(curve, np.array([points]), spread_of(latest))
        return float(mean[0])


def first_look(costs: Numbers) -> int:
    """Return how many points a first look takes: `LOOK_COST`, but two points where these are cheap."""
    within = int(np.searchsorted(costs, LOOK_COST + 1e-9, side="right"))
    return max(within, 2 if len(costs) > 1 and costs[1] <= LOOK_OF_TWO else 1)
