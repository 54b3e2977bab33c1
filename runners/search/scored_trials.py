"""Trials with their values by metric, as in a report, and the extra seeds of a sequential design that follow.

No task below a reference is in the score. Arms at their own recipes form a separate family.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

from runners.search.tuning_phase import families
from runners.stage_labels import all_labels
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.next_seeds import next_seeds
from steeplechase.ledger.metrics import results_by_arm, values_of_trial
from steeplechase.ledger.records import TrialRow
from steeplechase.ledger.snapshot import shared_records
from steeplechase.ledger.task_references import references_of
from steeplechase.ledger.task_standing import standings, tasks_in_score
from steeplechase.ledger.trial_history import KnownRows, TrialHistory, histories_of


def extra_seeds(experiment: Experiment, rows: KnownRows) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm; none if the seeds are listed, every comparison is decided, or none is left."""
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        return {}
    found = tuple(families(rows))
    arms = frozenset[str]().union(*(family.arms for family in found))
    results = scored_trials(experiment, rows, all_labels(experiment), arms)
    added: dict[str, set[int]] = {}
    for family in found:
        members = [(row, values) for row, values in results if row.arm in family.arms]
        proposed = next_seeds(seeds.until_decided, *results_by_arm(members), family.baseline, experiment.comparison)
        for name, new_seeds in proposed.items():
            added.setdefault(name, set()).update(new_seeds)
    return {name: tuple(sorted(new_seeds)) for name, new_seeds in added.items()}


TrialValues = tuple[TrialRow, dict[str, float]]


def scored_trials(
    experiment: Experiment, rows: KnownRows, labels: tuple[str, ...], arms: frozenset[str]
) -> tuple[TrialValues, ...]:
    """Return every trial of some arms with its values: means over fine-tuning seeds."""
    trials = tuple(history for history in histories_of(rows, labels) if history.trial.arm in arms)
    return tuple(_values(experiment, trials, labels, scored_tasks(experiment, rows, labels, trials)))


def scored_tasks(
    experiment: Experiment, rows: KnownRows, labels: tuple[str, ...], trials: Sequence[TrialHistory]
) -> tuple[str, ...]:
    """Return the tasks that the score is the mean of: those that are not below a reference over some trials."""
    tasks, primary = experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric
    values, _ = results_by_arm(_values(experiment, trials, labels, ()))
    return tasks_in_score(tasks, standings(references_of(shared_records(rows), primary), values, tasks))


def _values(
    experiment: Experiment, trials: Sequence[TrialHistory], labels: tuple[str, ...], scored: tuple[str, ...]
) -> Iterator[TrialValues]:
    tasks, primary = experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric
    for history in trials:
        by_metric = values_of_trial(history, labels, tasks, primary, scored)
        yield history.trial, {metric: fmean(values) for metric, values in by_metric}
