"""Successive halving: of a cohort, in brackets of cohorts, and without waiting for a cohort."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from steeplechase.configuration.hurdles.population import HurdleDecision, Population, State, Threshold, TrialView
from steeplechase.configuration.hurdles.rungs import Rungs
from steeplechase.foundation.schema import JsonValue


def best_of_cohorts(population: Population, keep: float) -> dict[str, HurdleDecision]:
    """Return the decisions on every cohort that is complete at a rung: a share `keep`, at least one, continues.

    The threshold is the worst value that continues; ties with it continue too. It is fixed once set: a trial that
    failed and arrives later is compared with the recorded threshold. A cohort of one trial continues without a
    threshold, which would be its own value.
    """
    decisions: dict[str, HurdleDecision] = {}
    for cohort, level in sorted({(trial.cohort, trial.level) for trial in population.waiting}):
        members = population.cohort(cohort)
        waiting = [trial for trial in members if trial.state is State.WAITING and trial.level == level]
        threshold = population.fixed(cohort, level)
        if threshold is None and any(trial.may_still_reach(level) for trial in members):
            continue
        if len(members) == 1:
            decisions |= {trial.name: HurdleDecision(trial.value is not None, trial.value, None) for trial in waiting}
            continue
        if threshold is None:
            threshold = threshold_of(sorted(trial.value for trial in waiting if trial.value is not None), keep)
        decisions |= {trial.name: compared(trial, threshold) for trial in waiting}
    return decisions


def most_of_cohort(size: int, keep: float, hurdles: int) -> int:
    """Return the number of a cohort's trials that finish where all values are finite and differ."""
    for _ in range(hurdles):
        size = _kept(size, keep)
    return size


def _kept(size: int, keep: float) -> int:
    return min(size, max(1, int(size * keep + 1e-9)))  # a third of three is one


def threshold_of(ascending: Sequence[float], keep: float) -> Threshold:
    """Return the worst value of a share `keep` of the trials, at least one, that continues; none without values."""
    return Threshold(ascending[_kept(len(ascending), keep) - 1] if ascending else None, len(ascending))


def compared(trial: TrialView, threshold: Threshold) -> HurdleDecision:
    """Return the decision on a waiting trial against a threshold."""
    cleared = trial.value is not None and threshold.value is not None and trial.value <= threshold.value
    return HurdleDecision(cleared, trial.value, threshold.value, threshold.references)


PartOfOne = Annotated[float, Field(gt=0, lt=1)]


class TopFraction(Rungs):
    """Continues a share of the cohort's trials with finite values at every rung, at least one.

    Jamieson and Talwalkar 2016, arXiv 1502.07943.
    """

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({"rungs": [1, 2]}, {"rungs": [1, 2], "keep": 0.2})
    kind: Literal["top_fraction"] = "top_fraction"
    """Chooses successive halving by cohort."""
    keep: PartOfOne = 0.5
    """Share of a cohort that continues at every rung; 0.5 halves it."""

    @property
    def fixes_thresholds(self) -> bool:
        """Every trial of a cohort is compared with the same threshold."""
        return True

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each cohort that can finish, without ties."""
        return tuple(most_of_cohort(size, self.keep, len(self.rungs)) for size in cohorts)

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions on the cohorts that are complete at a rung; other cohorts wait."""
        return best_of_cohorts(population, self.keep)


ReductionFactor = Annotated[float, Field(gt=1)]


class Hyperband(Rungs):
    """Brackets over the rungs; `design.cohort` is the size of the first bracket, which has every hurdle.

    Li et al. 2018, arXiv 1603.06560, algorithm 1. The first bracket has every hurdle, the next all but the first
    hurdle, and so on to a bracket without hurdles; then the cycle repeats. Later brackets are smaller, so that all
    have about the same cost. The paper's resources grow by the reduction factor from rung to rung; the declared
    rungs should grow in the same way.
    """

    kind: Literal["hyperband"] = "hyperband"
    """Chooses Hyperband's brackets."""
    reduction_factor: ReductionFactor = 3.0
    """The best 1/reduction_factor continue (η). Default: 3; Li et al. 2018, section 3.6, advise 3 or 4."""

    def bracket(self, cohort: int) -> int:
        """Return the number of hurdles that a cohort skips."""
        return cohort % (len(self.rungs) + 1)

    def cohort_size(self, number: int, declared_size: int) -> int:
        """Return a bracket's size relative to the first one's (algorithm 1, line 3)."""
        rungs, skipped = len(self.rungs) + 1, self.bracket(number)
        share = rungs / (rungs - skipped) * self.reduction_factor**-skipped
        return max(1, math.ceil(declared_size * share - 1e-9))

    @property
    def fixes_thresholds(self) -> bool:
        """Every trial of a bracket is compared with the same threshold."""
        return True

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each bracket that can finish, without ties."""
        keep, rungs = 1 / self.reduction_factor, len(self.rungs)
        return tuple(most_of_cohort(size, keep, rungs - self.bracket(number)) for number, size in enumerate(cohorts))

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions; a trial with a finite value clears every hurdle that its bracket skips."""
        skipped = {
            trial.name: HurdleDecision(trial.value is not None, trial.value, None)
            for trial in population.waiting
            if trial.level < self.bracket(trial.cohort)
        }
        return {**best_of_cohorts(population, 1 / self.reduction_factor), **skipped}


class Asha(Rungs):
    """Continues the best 1/reduction_factor of the trials declared so far; the first trial always continues.

    Li et al. 2020, arXiv 1810.05934; the form is that of Ray Tune. A trial waits until all trials declared before
    it have reached the rung or ended, so that the result is independent of the order of arrival.
    """

    kind: Literal["asha"] = "asha"
    """Chooses asynchronous successive halving."""
    reduction_factor: ReductionFactor = 3.0
    """The best 1/reduction_factor continue (η). Default: 3; Li et al. 2018, section 3.6, advise 3 or 4."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial whose predecessors have all reached the rung or ended."""
        keep = 1 / self.reduction_factor
        return {
            trial.name: compared(trial, threshold_of(population.declared_up_to(trial), keep))
            for trial in population.decidable_in_order
        }
