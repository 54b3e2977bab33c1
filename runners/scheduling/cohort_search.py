"""A search by cohorts: its trials as the hurdle sees them, which of them may train, and what is decided. Pure.

`run` shows it the trials of a ledger (`runners/scheduling/state.py`), `replay` those of recorded curves
(`runners/replay/search.py`); the next cohort enters when every trial of the present one has ended.
"""

import math
from collections.abc import Iterable, Mapping

from steeplechase.configuration.hurdles.population import HurdleDecision, Population, State, TrialView
from steeplechase.configuration.hurdles.rungs import Hurdle


class CohortSearch:
    """Trials that enter in cohorts and are compared at the rungs of a hurdle, each with those of its replicate."""

    def __init__(self, hurdle: Hurdle, replicates: Iterable[int] = (0,)) -> None:
        self._hurdle = hurdle
        self._ceiling = math.inf
        self._trials: dict[int, dict[str, TrialView]] = {replicate: {} for replicate in replicates}
        """By replicate, in the order in which they were declared."""
        self._waiting: dict[int, set[str]] = {replicate: set() for replicate in self._trials}
        """The trials that wait for a decision, by replicate."""
        self._cohorts: dict[str, int] = {}
        """Of the trials that have not ended."""
        self._decisions: dict[int, Mapping[str, HurdleDecision]] = {}
        """Cache by replicate, valid until a trial of it is observed."""

    def require_below(self, ceiling: float) -> None:
        """Let no threshold stop a trial that is not below `ceiling`: a score that a model without pretraining has.

        Values are smaller for better trials, so that the ceiling is the negative of the best reference's score.
        """
        self._ceiling = ceiling
        self._decisions.clear()

    def observe(self, trial: TrialView, ended: bool, replicate: int = 0) -> None:
        """Add a trial, or its new values, decisions or end."""
        self._trials[replicate][trial.name] = trial
        self._decisions.pop(replicate, None)
        if trial.state is State.WAITING:
            self._waiting[replicate].add(trial.name)
        else:
            self._waiting[replicate].discard(trial.name)
        if ended:
            self._cohorts.pop(trial.name, None)
        else:
            self._cohorts[trial.name] = trial.cohort

    def decisions(self) -> Mapping[str, HurdleDecision]:
        """Return the decisions that can be taken now, of the first replicate with any; those of a cohort together."""
        for replicate, trials in self._trials.items():
            if replicate not in self._decisions:
                waiting = self._waiting[replicate]
                found = self._hurdle.decide(Population(tuple(trials.values()))) if waiting else {}
                self._decisions[replicate] = {name: self._held(decision) for name, decision in found.items()}
            if self._decisions[replicate]:
                return self._decisions[replicate]
        return {}

    def _held(self, decision: HurdleDecision) -> HurdleDecision:
        """Return a decision; a threshold that is not below the ceiling compares noise, and every number passes it."""
        if decision.threshold is None or decision.value is None or decision.threshold < self._ceiling:
            return decision
        return HurdleDecision(True, decision.value, None)

    def next_action(self) -> frozenset[str]:
        """Return the trials of the earliest cohort with any that has not ended; none: the next one may enter."""
        first = min(self._cohorts.values(), default=0)
        return frozenset(name for name, cohort in self._cohorts.items() if cohort == first)
