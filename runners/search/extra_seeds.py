"""Which arms get which further seeds, from what the ledger holds; own recipes are judged among themselves."""

from collections.abc import Iterator
from statistics import fmean

from configuration.experiment import Experiment
from configuration.metrics import primary_metric
from configuration.seeds import next_seeds
from ledger.database import LedgerRows
from ledger.metrics import results_by_arm, values_of_trial
from ledger.records import TrialRow
from ledger.snapshot import histories_of
from runners.dag import all_labels
from runners.search.tuning_phase import families


def extra_seeds(experiment: Experiment, rows: LedgerRows) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm; none where the seeds are listed, or all is decided or spent."""
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        return {}
    measured = tuple(_measured(experiment, rows))
    added: dict[str, set[int]] = {}
    for family in families(rows):
        of_family = [(row, found) for row, found in measured if row.arm in family.arms]
        more = next_seeds(seeds.until_decided, *results_by_arm(of_family), family.baseline)
        for name, found in more.items():
            added.setdefault(name, set()).update(found)
    return {name: tuple(sorted(found)) for name, found in added.items()}


def _measured(experiment: Experiment, rows: LedgerRows) -> Iterator[tuple[TrialRow, dict[str, float]]]:
    """Yield what the ledger holds of every trial, by metric: the mean over its fine-tuning seeds."""
    labels, tasks = all_labels(experiment), experiment.fine_tuning.tasks
    for history in histories_of(rows, labels):
        found = values_of_trial(history, labels, tasks, primary_metric)
        yield history.trial, {metric: fmean(values) for metric, values in found}
