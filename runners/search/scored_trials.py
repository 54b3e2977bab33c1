"""Trials with their values by metric, as in a report: no task below a reference is in the score."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.metrics import results_by_arm, values_of_trial
from steeplechase.ledger.records import TrialRow
from steeplechase.ledger.snapshot import shared_records
from steeplechase.ledger.task_references import references_of
from steeplechase.ledger.task_standing import standings, tasks_in_score
from steeplechase.ledger.trial_history import TrialHistory, histories_of

TrialValues = tuple[TrialRow, dict[str, float]]


def scored_trials(
    experiment: Experiment, rows: LedgerRows, labels: tuple[str, ...], arms: frozenset[str]
) -> tuple[TrialValues, ...]:
    """Return every trial of some arms with its values: means over fine-tuning seeds."""
    trials = tuple(history for history in histories_of(rows, labels) if history.trial.arm in arms)
    return tuple(_values(experiment, trials, labels, scored_tasks(experiment, rows, labels, trials)))


def scored_tasks(
    experiment: Experiment, rows: LedgerRows, labels: tuple[str, ...], trials: Sequence[TrialHistory]
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
