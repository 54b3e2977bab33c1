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
        return _cohorts(view, settings_of(view.costs))

    return moves


def _cohorts(view: View, settings: HurdleSettings) -> Iterator[Action]:
    """Let cohort after cohort enter, in the order of drawing."""
    trials: list[TrialView] = []
    number = 0
    while len(trials) < len(view.reached):
        first, size = len(trials), settings.hurdle.cohort_size(number, settings.cohort)
        for place in range(first, min(first + size, len(view.reached))):
            features = tuple(view.features[place].tolist())
            trials.append(TrialView(f"{place:08d}", number, State.MOVING, features=features))
        yield from _until_all_have_ended(view, settings.hurdle, trials, first)
        number += 1


def _until_all_have_ended(view: View, hurdle: HurdleRule, trials: list[TrialView], first: int) -> Iterator[Action]:
    """Train whoever may go on to the next rung, the earliest trial first; `trials` is kept up to date."""
    marks = np.searchsorted(view.costs, np.array([*hurdle.rung_tokens, TOKENS]) / TOKENS - 1e-9) + 1
    moving = list(range(first, len(trials)))
    while moving:
        place = moving[0]
        yield Action(place, int(marks[trials[place].level]))
        trials[place] = _arrived(view, place, trials[place], len(hurdle.rung_tokens))
        _decide(hurdle, trials)
        moving = [place for place in range(first, len(trials)) if trials[place].state is State.MOVING]


def _arrived(view: View, place: int, trial: TrialView, hurdles: int) -> TrialView:
    """Return a trial that has trained as far as its next rung, or to its end, or has diverged on the way."""
    points = int(view.reached[place])
    seen = view.observed[place, :points].tolist()
    if np.isinf(seen[-1]) or trial.level == hurdles:
        return replace(trial, state=State.DONE)
    tokens = (int(cost * TOKENS) for cost in view.costs[:points])
    curve = tuple(zip(tokens, seen, strict=True))
    return replace(trial, state=State.WAITING, values=(*trial.values, seen[-1]), curve=curve, settled=points)


def _decide(hurdle: HurdleRule, trials: list[TrialView]) -> None:
    """Decide on every trial that can be decided on, until no further one can."""
    while any(trial.state is State.WAITING for trial in trials):
        decisions = hurdle.decide(Population(tuple(trials), TOKENS))
        if not decisions:
            return
        for place, trial in enumerate(trials):
            if trial.name in decisions:
                decision = decisions[trial.name]
                state = State.MOVING if decision.cleared else State.DONE
                trials[place] = replace(trial, state=state, verdicts=(*trial.verdicts, decision))
