"""An evolution under a budget: what is in training, what every candidate has reached, and what may still be spent.

A race is a function of its evolution and the order in which results arrive. It knows neither ledger nor clock:
`runners/scheduling/race_of_trials.py` feeds it with records.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from runners.policies.evolution import Action, Evolution

ROUNDING = 1e-9  # sums of shares of a training


class Race:
    """Truncates the last training to the budget in full trainings; `costs` are those of training to each point."""

    def __init__(self, evolution: Evolution, costs: NDArray[np.float64], budget: float) -> None:
        self.evolution, self._costs, self._budget, self._remaining = evolution, costs, budget, budget
        self.reached: dict[int, int] = {}
        """Observed points by candidate."""
        self.targets: dict[int, int] = {}
        """Points to which each candidate in training is trained."""
        self._truncated: int | None = None

    @property
    def spent(self) -> float:
        """Cost of the observed points."""
        in_progress = (
            self._cost(self.reached.get(candidate, 0), target) for candidate, target in self.targets.items()
        )
        return self._budget - self._remaining - sum(in_progress)

    def next_action(self, at_once: int) -> Iterator[Action]:
        """Yield the trainings to start now, until `at_once` are in progress."""
        while len(self.targets) < at_once and self._truncated is None:
            if (action := self.evolution.next_action()) is None:
                return
            candidate, done = action.candidate, self.reached.get(action.candidate, 0)
            affordable = self._cost(0, done) + self._remaining + ROUNDING
            points = min(action.points, int(np.searchsorted(self._costs, affordable, side="right")))
            self._truncated = candidate if points < action.points else None
            if points > done:
                self.targets[candidate] = points
                self._remaining -= self._cost(done, points)
                yield Action(candidate, points)

    def observe(self, candidate: int, values: Sequence[float]) -> None:
        """Add the new values of a candidate; after divergence the last one is infinite.

        A training that diverged before its target has cost what it was trained.
        """
        target = self.targets.pop(candidate)
        points = self.reached[candidate] = self.reached.get(candidate, 0) + len(values)
        self._remaining += self._cost(points, target)
        if candidate == self._truncated and points < target:
            self._truncated = None
        self.evolution.observe(candidate, points, values[-1])

    def _cost(self, done: int, points: int) -> float:
        before, after = (float(self._costs[each - 1]) if each else 0.0 for each in (done, points))
        return after - before
