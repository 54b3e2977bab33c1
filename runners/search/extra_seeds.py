"""Extra pretraining seeds of a sequential design, by arm; arms at their own recipes form a separate family."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from runners.search.tuning_phase import families
from runners.stage_labels import all_labels
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.next_seeds import next_seeds
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.metrics import results_by_arm, values_of_trial
from steeplechase.ledger.records import TrialRow
from steeplechase.ledger.snapshot import TrialHistory, histories_of, shared_records
from steeplechase.ledger.task_references import references_of
from steeplechase.ledger.task_standing import standings, tasks_in_score


def extra_seeds(experiment: Experiment, rows: LedgerRows) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm; none if the seeds are listed, every comparison is decided, or none is left."""
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        return {}
    found = tuple(families(rows))
    trials = _trials(rows, all_labels(experiment), frozenset().union(*(family.arms for family in found)))
    results = tuple(_results(experiment, trials, _tasks_in_score(experiment, rows, trials)))
    added: dict[str, set[int]] = {}
    for family in found:
        members = [(row, values) for row, values in results if row.arm in family.arms]
        proposed = next_seeds(seeds.until_decided, *results_by_arm(members), family.baseline, experiment.comparison)
        for name, new_seeds in proposed.items():
            added.setdefault(name, set()).update(new_seeds)
    return {name: tuple(sorted(new_seeds)) for name, new_seeds in added.items()}


def _trials(rows: LedgerRows, labels: tuple[str, ...], arms: frozenset[str]) -> tuple[TrialHistory, ...]:
    return tuple(history for history in histories_of(rows, labels) if history.trial.arm in arms)


def _tasks_in_score(experiment: Experiment, rows: LedgerRows, trials: Sequence[TrialHistory]) -> tuple[str, ...]:
    """Return the tasks that a report of these rows has in the score: those that are not below a reference."""
    tasks, primary = experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric
    values, _ = results_by_arm(_results(experiment, trials, ()))
    return tasks_in_score(tasks, standings(references_of(shared_records(rows), primary), values, tasks))


def _results(
    experiment: Experiment, trials: Sequence[TrialHistory], scored: tuple[str, ...]
) -> Iterator[tuple[TrialRow, dict[str, float]]]:
    """Yield every trial with its values by metric: means over fine-tuning seeds."""
    labels, tasks, primary = (
        all_labels(experiment),
        experiment.fine_tuning.tasks,
        experiment.fine_tuning.primary_metric,
    )
    for history in trials:
        by_metric = values_of_trial(history, labels, tasks, primary, scored)
        yield history.trial, {metric: fmean(values) for metric, values in by_metric}
