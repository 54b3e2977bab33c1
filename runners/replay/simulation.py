"""Simulated executor: a search policy on recorded curves, with a budget and a number of workers.

A training takes as long as it costs, so that with several workers the order of arrival is that of equally fast ones.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from runners.policies.policy import Action, Breeder, Numbers, PolicyFactory
from runners.policies.race import Race


@dataclass(frozen=True)
class SimulationState:
    """State of a simulation after an action."""

    spent: float
    best_seen: float
    """The best observed value of any candidate at any point; infinite if all have diverged."""
    incumbent: int
    """The candidate with the best observed value."""
    trained: tuple[int, range] | None = None
    """The candidate that was trained, and the indices of its new points."""


class Simulation:
    """One order of candidates and budget; values are [candidates, points].

    A breeder may fill the values of a candidate when it numbers it.
    """

    def __init__(
        self, values: Numbers, costs: Numbers, features: Numbers, budget: float, breeder: Breeder | None = None
    ) -> None:
        self._values, self._costs, self._features, self._budget = values, costs, features, budget
        self._breeder = breeder
        self._best, self._incumbent = np.inf, 0
        self.reached = np.zeros(len(values), dtype=np.int64)
        """Number of observed points of each candidate [candidates]."""
        self.duplicates = 0
        """Children that equalled a candidate of before."""

    def run(
        self, policy: PolicyFactory, generator: np.random.Generator, workers: int = 1
    ) -> Iterator[SimulationState]:
        """Run the policy until it ends or the budget is spent; yield the state after each training.

        The last training is truncated to the budget. Raises ValueError for an action that trains nothing.
        """
        race = Race(policy, self._features, self._costs, self._budget, generator, self._breeder)
        self.reached = race.reached
        training: list[tuple[float, int, Action]] = []
        now, started = 0.0, 0
        while True:
            for action in race.actions(workers):
                points = self._trained_points(race, action)
                done = int(race.reached[action.candidate])
                seconds = float(self._costs[points - 1]) - float(self._costs[done - 1] if done else 0.0)
                heapq.heappush(training, (now + seconds, started, Action(action.candidate, points)))
                started += 1
            self.duplicates = race.duplicates
            if not training:
                return
            now, _, ended = heapq.heappop(training)
            yield self._arrive(race, ended)

    def _trained_points(self, race: Race, action: Action) -> int:
        """Return the points of an action, fewer if the candidate diverges before."""
        done = int(race.reached[action.candidate])
        broken = np.flatnonzero(np.isinf(self._values[action.candidate, done : action.points]))
        return done + int(broken[0]) + 1 if len(broken) else action.points

    def _arrive(self, race: Race, ended: Action) -> SimulationState:
        points = range(int(race.reached[ended.candidate]), ended.points)
        values = self._values[ended.candidate, points.start : points.stop]
        if values.min() < self._best:
            self._best, self._incumbent = float(values.min()), ended.candidate
        race.arrive(ended.candidate, values.tolist())
        return SimulationState(race.spent, self._best, self._incumbent, (ended.candidate, points))
