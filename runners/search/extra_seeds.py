"""Extra pretraining seeds of a sequential design, by arm; arms at their own recipes form a separate family."""

from collections.abc import Iterator
from statistics import fmean

from configuration.experiment import Experiment
from configuration.next_seeds import next_seeds
from ledger.database import LedgerRows
from ledger.metrics import results_by_arm, values_of_trial
from ledger.records import TrialRow
from ledger.snapshot import histories_of
from runners.search.tuning_phase import families
from runners.stage_labels import all_labels


def extra_seeds(experiment: Experiment, rows: LedgerRows) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm; none if the seeds are listed, every comparison is decided, or none is left."""
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        return {}
    results = tuple(_results(experiment, rows))
    added: dict[str, set[int]] = {}
    for family in families(rows):
        members = [(row, values) for row, values in results if row.arm in family.arms]
        proposed = next_seeds(seeds.until_decided, *results_by_arm(members), family.baseline, experiment.comparison)
        for name, new_seeds in proposed.items():
            added.setdefault(name, set()).update(new_seeds)
    return {name: tuple(sorted(new_seeds)) for name, new_seeds in added.items()}


def _results(experiment: Experiment, rows: LedgerRows) -> Iterator[tuple[TrialRow, dict[str, float]]]:
    """Yield every trial with its values by metric: means over fine-tuning seeds."""
    labels, tasks = all_labels(experiment), experiment.fine_tuning.tasks
    for history in histories_of(rows, labels):
        by_metric = values_of_trial(history, labels, tasks, experiment.fine_tuning.primary_metric)
        yield history.trial, {metric: fmean(values) for metric, values in by_metric}
