"""A search by cohorts: its trials as the hurdle sees them, which of them may train, and what is decided. Pure.

`run` shows it the trials of a ledger (`runners/scheduling/state.py`), `replay` those of recorded curves
(`runners/replay/search.py`); the next cohort enters when every trial of the present one has ended.
"""

import math
from collections.abc import Iterable, Mapping

from steeplechase.configuration.hurdles.population import HurdleDecision, Population, Threshold, TrialView
from steeplechase.configuration.hurdles.rungs import Hurdle


class CohortSearch:
    """Trials that enter in cohorts and are compared at the rungs of a hurdle, each with those of its replicate."""

    def __init__(self, hurdle: Hurdle, replicates: Iterable[int] = (0,)) -> None:
        self._hurdle = hurdle
        self._ceiling = math.inf
        self._populations = {replicate: Population() for replicate in replicates}
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
        self._populations[replicate].show(trial)
        self._decisions.pop(replicate, None)
        if ended:
            self._cohorts.pop(trial.name, None)
        else:
            self._cohorts[trial.name] = trial.cohort

    def decided(self, cohort: int, level: int, decision: HurdleDecision, replicate: int = 0) -> None:
        """Take note of a decision on a trial of a cohort: what fixes the threshold of those that arrive later."""
        if self._hurdle.fixes_thresholds and decision.threshold is not None:
            self._populations[replicate].fix(cohort, level, Threshold(decision.threshold, decision.references))

    def decisions(self) -> Mapping[str, HurdleDecision]:
        """Return the decisions that can be taken now, of the first replicate with any; those of a cohort together."""
        for replicate, population in self._populations.items():
            if replicate not in self._decisions:
                found = self._hurdle.decide(population)
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
