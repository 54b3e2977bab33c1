"""What a policy sees of a search on recorded curves, and the race itself: budget, moves, and what was seen when.

A policy is a generator of moves. It reads a `View`, which holds configurations and what has been observed and nothing
else, and yields the candidate to train next and how far; the view is brought up to date before it is asked again.
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
    """Train a candidate until it has been seen at so many points; a paused one carries on from where it was."""

    candidate: int
    points: int


class View(Protocol):
    """All that a policy may look at. Candidates are numbered in the order in which they would be drawn at random."""

    @property
    def features(self) -> Numbers:
        """Configurations as numbers in [0, 1], [candidates, features]."""

    @property
    def costs(self) -> Numbers:
        """Cost of training from nothing to each point, in full trainings [points]."""

    @property
    def observed(self) -> Numbers:
        """Values seen [candidates, points]: smaller is better, NaN not seen, infinite where it diverged."""

    @property
    def reached(self) -> NDArray[np.int64]:
        """How many points of each candidate have been seen [candidates]."""

    @property
    def remaining(self) -> float:
        """Budget left, in full trainings."""


Policy = Callable[[View, np.random.Generator], Iterator[Action]]


@dataclass(frozen=True)
class Turn:
    """Where a race stands after a move."""

    spent: float
    best_seen: float
    """The best value of any candidate at any point seen so far; infinite where all have diverged."""
    incumbent: int
    """The candidate that holds it."""


class Simulation:
    """One policy, one order of the candidates, one budget. Implements View; the future stays out of its reach."""

    def __init__(self, values: Numbers, costs: Numbers, features: Numbers, budget: float) -> None:
        self.costs, self.features = costs, features
        self.observed = np.full(values.shape, np.nan)
        self.reached = np.zeros(len(values), dtype=np.int64)
        self.remaining = budget
        self._values, self._budget = values, budget
        self._best, self._incumbent = np.inf, 0

    def run(self, policy: Policy, chance: np.random.Generator) -> Iterator[Turn]:
        """Let the policy move until it has no more moves or the budget cannot pay for the next; report each move.

        A move that the budget pays in part is made in part, and is the last. Raises ValueError for a move that
        trains nothing: a policy must never ask for what it has, nor carry a diverged candidate on.
        """
        for move in policy(self, chance):
            done = self.reached[move.candidate]
            if move.points <= done or (done and np.isinf(self.observed[move.candidate, done - 1])):
                raise ValueError(f"{move} trains nothing: {done} points are seen")
            points = self._affordable(move)
            if points <= done:
                return
            yield self._train(move.candidate, points)
            if points < move.points and self.reached[move.candidate] == points:
                return

    def _affordable(self, move: Action) -> int:
        """Return how far the budget lets the move go."""
        done = self.reached[move.candidate]
        paid = self.costs[done - 1] if done else 0.0
        within = int(np.searchsorted(self.costs, paid + self.remaining + ROUNDING, side="right"))
        return min(move.points, within)

    def _train(self, candidate: int, points: int) -> Turn:
        done = int(self.reached[candidate])
        broken = np.flatnonzero(np.isinf(self._values[candidate, done:points]))
        points = done + int(broken[0]) + 1 if len(broken) else points  # training stops where the loss is not finite
        values = self._values[candidate, done:points]
        self.remaining -= self.costs[points - 1] - (self.costs[done - 1] if done else 0.0)
        self.observed[candidate, done:points] = values
        self.reached[candidate] = points
        if values.min() < self._best:
            self._best, self._incumbent = float(values.min()), candidate
        return Turn(self._budget - self.remaining, self._best, self._incumbent)
