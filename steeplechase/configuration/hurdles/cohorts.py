"""Successive halving of a cohort: when every trial has reached the rung or ended, the best of them continue."""

from collections.abc import Iterable

from steeplechase.configuration.hurdles.decision import HurdleDecision
from steeplechase.configuration.hurdles.population import Population, State, TrialView


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
        recorded = _recorded_threshold(members, level)
        if recorded is None and any(trial.may_still_reach(level) for trial in members):
            continue
        if len(members) == 1:
            decisions |= {trial.name: HurdleDecision(trial.value is not None, trial.value, None) for trial in waiting}
            continue
        threshold, reference_trials = recorded or threshold_of(waiting, level, keep)
        decisions |= {trial.name: compared(trial, threshold, reference_trials) for trial in waiting}
    return decisions


def most_of_cohort(size: int, keep: float, hurdles: int) -> int:
    """Return the number of a cohort's trials that finish where all values are finite and differ."""
    for _ in range(hurdles):
        size = _kept(size, keep)
    return size


def _kept(size: int, keep: float) -> int:
    return min(size, max(1, int(size * keep + 1e-9)))  # a third of three is one


def threshold_of(members: Iterable[TrialView], level: int, keep: float) -> tuple[float | None, tuple[str, ...]]:
    """Return the worst value that continues, None if no value is finite, and the trials with finite values."""
    values = {trial.name: value for trial in members if (value := trial.value_at(level)) is not None}
    if not values:
        return None, ()
    return sorted(values.values())[_kept(len(values), keep) - 1], tuple(sorted(values))


def compared(trial: TrialView, threshold: float | None, reference_trials: tuple[str, ...]) -> HurdleDecision:
    """Return the decision on a waiting trial against a threshold."""
    cleared = trial.value is not None and threshold is not None and trial.value <= threshold
    return HurdleDecision(cleared, trial.value, threshold, reference_trials)


def _recorded_threshold(members: Iterable[TrialView], level: int) -> tuple[float | None, tuple[str, ...]] | None:
    for trial in members:
        if trial.level > level and trial.decisions[level].threshold is not None:
            return trial.decisions[level].threshold, trial.decisions[level].reference_trials
    return None
