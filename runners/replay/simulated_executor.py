"""A simulated executor: recorded curves run through a hurdle of `configuration/hurdles`, with one worker.

Trials enter in cohorts, as in `run`: the next cohort enters when every trial of the present one has ended, and the
earliest trial that may go on trains to its next rung. Whoever a hurdle stops is not carried on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from configuration.hurdles import HurdleRule
from configuration.hurdles.population import Population, State, TrialView
from runners.replay.simulation import Action, Numbers, Policy, View

TOKENS = 10**9
"""Tokens of a whole training, whatever the recorded steps count."""


@dataclass(frozen=True)
class HurdleSettings:
    """A hurdle, with rungs in shares of `TOKENS`, and how many trials a cohort has."""

    hurdle: HurdleRule
    cohort: int = 1


def hurdle_policy(settings_of: Callable[[Numbers], HurdleSettings]) -> Policy:
    """Return the policy that runs candidates through a hurdle; its settings may depend on what each point costs."""

    def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
        return SimulatedExecutor(view, settings_of(view.costs)).actions()

    return moves


class SimulatedExecutor:
    """Runs the candidates of a view through a hurdle, in the order in which they are drawn."""

    def __init__(self, view: View, settings: HurdleSettings) -> None:
        self._view, self._hurdle, self._cohort = view, settings.hurdle, settings.cohort
        shares = np.array([*self._hurdle.rung_tokens, TOKENS]) / TOKENS
        self._points_at_rungs = (np.searchsorted(view.costs, shares - 1e-9) + 1).tolist()
        self._tokens = [int(cost * TOKENS) for cost in view.costs]
        self._trials: list[TrialView] = []

    def actions(self) -> Iterator[Action]:
        """Yield the trainings of one cohort after the other."""
        number, candidates = 0, len(self._view.reached)
        while (first := len(self._trials)) < candidates:
            size = self._hurdle.cohort_size(number, self._cohort)
            self._trials += [self._entered(place, number) for place in range(first, min(first + size, candidates))]
            yield from self._actions_of_cohort(first)
            number += 1

    def _entered(self, place: int, cohort: int) -> TrialView:
        features = tuple(self._view.features[place].tolist())
        return TrialView(f"{place:08d}", cohort, State.MOVING, features=features)

    def _actions_of_cohort(self, first: int) -> Iterator[Action]:
        """Train whoever may go on to the next rung, the earliest trial first, until no trial may."""
        places = range(first, len(self._trials))
        while (place := next((one for one in places if self._trials[one].state is State.MOVING), None)) is not None:
            yield Action(place, self._points_at_rungs[self._trials[place].level])
            self._trials[place] = self._arrived(place)
            self._decide(places)

    def _arrived(self, place: int) -> TrialView:
        """Return a trial that has trained as far as its next rung, or to its end, or has diverged on the way."""
        trial, points = self._trials[place], int(self._view.reached[place])
        values = self._view.observed[place, :points].tolist()
        if np.isinf(values[-1]) or trial.level == len(self._hurdle.rung_tokens):
            return replace(trial, state=State.DONE)
        curve = tuple(zip(self._tokens[:points], values, strict=True))
        seen = (*trial.values, values[-1])
        return replace(trial, state=State.WAITING, values=seen, curve=curve, points_at_last_rung=points)

    def _decide(self, places: range) -> None:
        """Decide on every trial of the cohort that can be decided on, until no further one can."""
        while any(self._trials[place].state is State.WAITING for place in places):
            decisions = self._hurdle.decide(Population(tuple(self._trials), TOKENS))
            if not decisions:
                return
            for place in places:
                trial = self._trials[place]
                if trial.name in decisions:
                    decision = decisions[trial.name]
                    state = State.MOVING if decision.cleared else State.DONE
                    self._trials[place] = replace(trial, state=state, decisions=(*trial.decisions, decision))
