"""One evolution under a budget: what was observed, what is in training and what the budget still allows.

A race is a function of its settings, its seed and the order in which results arrive. It knows neither ledger nor
clock: `runners/scheduling/race_of_trials.py` feeds it with records.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from runners.policies.evolution import Evolution, Evolving
from runners.policies.policy import ROUNDING, Action, Breeder, Judgement, Numbers


class Race:
    """Implements View, which excludes values not observed yet."""

    def __init__(
        self,
        evolving: Evolving,
        breeder: Breeder,
        capacity: int,
        costs: Numbers,
        budget: float,
        generator: np.random.Generator,
    ) -> None:
        self.breeder, self.costs, self.remaining = breeder, costs, budget
        self.observed = np.full((capacity, len(costs)), np.nan)
        self.reached = np.zeros(capacity, dtype=np.int64)
        self.in_training = np.zeros(capacity, dtype=np.bool_)
        self.targets: dict[int, int] = {}
        """Points to which each candidate in training is trained."""
        self.judgements: dict[tuple[int, int], Judgement] = {}
        """What the policy's hurdles decided, by candidate and its observed points."""
        self.duplicates = 0
        """Children that equalled a candidate of before."""
        self._budget = budget
        self._truncated: int | None = None
        self.policy = Evolution(self, generator, evolving)

    @property
    def spent(self) -> float:
        """Cost of the observed points, in full trainings."""
        in_progress = (self._cost(int(self.reached[candidate]), target) for candidate, target in self.targets.items())
        return self._budget - self.remaining - sum(in_progress)

    def actions(self, at_once: int) -> Iterator[Action]:
        """Yield the trainings to start now, until `at_once` are in progress."""
        while len(self.targets) < at_once and (action := self._next_action()) is not None:
            yield action

    def arrive(self, candidate: int, values: Sequence[float]) -> None:
        """Add the new values of a candidate; after divergence the last one is infinite.

        A training that diverged before its target has cost what it was trained.
        """
        done, target = int(self.reached[candidate]), self.targets.pop(candidate)
        points = done + len(values)
        self.observed[candidate, done:points] = values
        self.reached[candidate] = points
        self.in_training[candidate] = False
        self.remaining += float(self.costs[target - 1] - self.costs[points - 1])
        if candidate == self._truncated and points < target:
            self._truncated = None
        self.policy.observe(candidate)

    def judge(self, candidate: int, judgement: Judgement) -> None:
        """Note the decision of a hurdle of the policy."""
        self.judgements[candidate, judgement.points] = judgement

    def repeat(self, candidate: int) -> None:
        """Count a child that equals a candidate of before."""
        self.duplicates += 1

    def _next_action(self) -> Action | None:
        """Return the policy's next action, truncated to the budget; None after a truncated one.

        Raises ValueError for an action that trains nothing: at points observed before, on a candidate that diverged
        or is in training.
        """
        if self._truncated is not None:
            return None
        action = self.policy.next_action()
        if action is None:
            return None
        candidate, done = action.candidate, int(self.reached[action.candidate])
        diverged = done and np.isinf(self.observed[candidate, done - 1])
        if action.points <= done or diverged or self.in_training[candidate]:
            raise ValueError(f"{action} trains nothing: {done} points are observed")
        points = min(action.points, self._affordable(done))
        if points < action.points:
            self._truncated = candidate
        if points <= done:
            return None
        self.targets[candidate] = points
        self.in_training[candidate] = True
        self.remaining -= self._cost(done, points)
        return Action(candidate, points)

    def _affordable(self, done: int) -> int:
        """Return the points that a candidate may reach from `done` points within the budget."""
        return int(np.searchsorted(self.costs, self._cost(0, done) + self.remaining + ROUNDING, side="right"))

    def _cost(self, done: int, points: int) -> float:
        return float(self.costs[points - 1] if points else 0.0) - float(self.costs[done - 1] if done else 0.0)
