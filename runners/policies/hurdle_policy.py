"""A hurdle of `configuration/hurdles` as a policy: candidates pass its rungs in cohorts, in random order.

Trials enter in cohorts, as in `run`: the next cohort enters when every trial of the present one has ended, and the
earliest trial that may continue trains to its next rung. A stopped trial is not resumed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from runners.policies.policy import Action, Numbers, PolicyFactory, View
from steeplechase.configuration.hurdles import HurdleRule
from steeplechase.configuration.hurdles.population import Population, State, TrialView

TOKENS = 10**9
"""Tokens of a full training, independent of the unit of the recorded steps."""


@dataclass(frozen=True)
class HurdleSettings:
    """A hurdle, with rungs as shares of `TOKENS`, and the size of a cohort."""

    hurdle: HurdleRule
    cohort: int = 1


def hurdle_policy(settings_of: Callable[[Numbers], HurdleSettings]) -> PolicyFactory:
    """Return the policy of a hurdle; its settings may depend on the costs of the points."""
    return lambda view, generator: HurdlePolicy(view, settings_of(view.costs))


class HurdlePolicy:
    """Implements Policy."""

    def __init__(self, view: View, settings: HurdleSettings) -> None:
        self._view, self._hurdle, self._cohort = view, settings.hurdle, settings.cohort
        shares = np.array([*self._hurdle.rungs_of(TOKENS), TOKENS]) / TOKENS
        self._points_at_rungs = (np.searchsorted(view.costs, shares - 1e-9) + 1).tolist()
        self._trials: list[TrialView] = []
        self._first, self._cohorts = 0, 0
        """Index of the first trial of the present cohort, and the number of cohorts that have entered."""

    def next_action(self) -> Action | None:
        """Return the training of the earliest trial that may continue; the next cohort enters after the last one."""
        while (index := self._earliest()) is None:
            if self._view.in_training[self._first :].any() or len(self._trials) == len(self._view.reached):
                return None
            self._enter()
        return Action(index, self._points_at_rungs[self._trials[index].level])

    def observe(self, candidate: int) -> None:
        """Apply the hurdle's decisions that the values of a candidate allow."""
        self._trials[candidate] = self._at_rung(candidate)
        self._decide(range(self._first, len(self._trials)))

    def _earliest(self) -> int | None:
        indices = range(self._first, len(self._trials))
        moving = (index for index in indices if self._trials[index].state is State.MOVING)
        return next((index for index in moving if not self._view.in_training[index]), None)

    def _enter(self) -> None:
        self._first, number = len(self._trials), self._cohorts
        end = min(self._first + self._hurdle.cohort_size(number, self._cohort), len(self._view.reached))
        self._trials += [TrialView(f"{index:08d}", number, State.MOVING) for index in range(self._first, end)]
        self._cohorts += 1

    def _at_rung(self, index: int) -> TrialView:
        """Return a trial after training to its next rung or its end, or up to divergence."""
        trial, points = self._trials[index], int(self._view.reached[index])
        values = self._view.observed[index, :points].tolist()
        if np.isinf(values[-1]) or trial.level == len(self._hurdle.rungs_of(TOKENS)):
            return replace(trial, state=State.DONE)
        return replace(trial, state=State.WAITING, values=(*trial.values, values[-1]))

    def _decide(self, indices: range) -> None:
        """Apply the hurdle's decisions to the cohort until there are no further ones."""
        while any(self._trials[index].state is State.WAITING for index in indices):
            decisions = self._hurdle.decide(Population(tuple(self._trials)))
            if not decisions:
                return
            for index in indices:
                trial = self._trials[index]
                if trial.name in decisions:
                    decision = decisions[trial.name]
                    state = State.MOVING if decision.cleared else State.DONE
                    self._trials[index] = replace(trial, state=state, decisions=(*trial.decisions, decision))
