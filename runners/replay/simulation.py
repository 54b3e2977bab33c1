"""Simulation of a search policy on recorded curves with a budget.

A policy is a generator of actions. It reads a `View` of the configurations and the observed values, and yields the
candidate to train next and how far; the view is updated before the generator resumes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

ROUNDING = 1e-9  # sums of shares of a training


@dataclass(frozen=True)
class Action:
    """Train a candidate up to a number of points; a paused candidate is resumed."""

    candidate: int
    points: int


class View(Protocol):
    """Observations available to a policy. Candidates are numbered in random order."""

    @property
    def features(self) -> Numbers:
        """Configurations as numbers in [0, 1], [candidates, features]."""

    @property
    def costs(self) -> Numbers:
        """Cost of training from nothing to each point, in full trainings [points]."""

    @property
    def observed(self) -> Numbers:
        """Observed values [candidates, points]: smaller is better, NaN if not observed, infinite if diverged."""

    @property
    def reached(self) -> NDArray[np.int64]:
        """Number of observed points of each candidate [candidates]."""

    @property
    def remaining(self) -> float:
        """Budget left, in full trainings."""


Policy = Callable[[View, np.random.Generator], Iterator[Action]]


@dataclass(frozen=True)
class SimulationState:
    """State of a simulation after an action."""

    spent: float
    best_seen: float
    """The best observed value of any candidate at any point; infinite if all have diverged."""
    incumbent: int
    """The candidate with the best observed value."""


class Simulation:
    """One policy, order of candidates and budget. Implements View, which excludes values not observed yet."""

    def __init__(self, values: Numbers, costs: Numbers, features: Numbers, budget: float) -> None:
        self.costs, self.features = costs, features
        self.observed = np.full(values.shape, np.nan)
        self.reached = np.zeros(len(values), dtype=np.int64)
        self.remaining = budget
        self._values, self._budget = values, budget
        self._best, self._incumbent = np.inf, 0

    def run(self, policy: Policy, generator: np.random.Generator) -> Iterator[SimulationState]:
        """Run the policy until it ends or the budget is spent; yield the state after each action.

        The last action is truncated to the budget. Raises ValueError for an action that trains nothing: at points
        observed before, or on a diverged candidate.
        """
        for action in policy(self, generator):
            done = self.reached[action.candidate]
            if action.points <= done or (done and np.isinf(self.observed[action.candidate, done - 1])):
                raise ValueError(f"{action} trains nothing: {done} points are observed")
            points = self._affordable(action)
            if points <= done:
                return
            yield self._train(action.candidate, points)
            if points < action.points and self.reached[action.candidate] == points:
                return

    def _affordable(self, action: Action) -> int:
        """Return the points of an action that the budget allows."""
        done = self.reached[action.candidate]
        paid = self.costs[done - 1] if done else 0.0
        within = int(np.searchsorted(self.costs, paid + self.remaining + ROUNDING, side="right"))
        return min(action.points, within)

    def _train(self, candidate: int, points: int) -> SimulationState:
        done = int(self.reached[candidate])
        broken = np.flatnonzero(np.isinf(self._values[candidate, done:points]))
        points = done + int(broken[0]) + 1 if len(broken) else points  # training stops at a non-finite loss
        values = self._values[candidate, done:points]
        self.remaining -= self.costs[points - 1] - (self.costs[done - 1] if done else 0.0)
        self.observed[candidate, done:points] = values
        self.reached[candidate] = points
        if values.min() < self._best:
            self._best, self._incumbent = float(values.min()), candidate
        return SimulationState(self._budget - self.remaining, self._best, self._incumbent)
