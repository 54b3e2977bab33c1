"""Which arms get which further seeds, from what the ledger holds; own recipes are judged among themselves."""

from collections.abc import Iterator, Mapping
from statistics import fmean

from runners.asked.experiment import Experiment
from runners.asked.metrics import primary_metric
from runners.asked.sequential import next_seeds, results_by_arm
from runners.designs.arm import Arm
from runners.driving.itinerary import all_labels
from runners.evidence.measured import values_of_trial
from runners.evidence.standing import histories_of
from runners.kept.ledger import Ledger
from runners.kept.records import TrialRow
from runners.tuning.phase import families


def further_seeds(experiment: Experiment, ledger: Ledger, arms: Mapping[str, Arm]) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm; none where the seeds are listed, or all is decided or spent."""
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        return {}
    measured = tuple(_measured(experiment, ledger))
    added: dict[str, set[int]] = {}
    for family in families(arms, ledger):
        of_family = [(row, found) for row, found in measured if row.arm in family.arms]
        more = next_seeds(seeds.until_decided, *results_by_arm(of_family), family.baseline)
        for name, found in more.items():
            added.setdefault(name, set()).update(found)
    return {name: tuple(sorted(found)) for name, found in added.items()}


def _measured(experiment: Experiment, ledger: Ledger) -> Iterator[tuple[TrialRow, dict[str, float]]]:
    """Yield what the ledger holds of every trial, by metric: the mean over its fine-tuning seeds."""
    labels, tasks = all_labels(experiment), experiment.fine_tuning.tasks
    for history in histories_of(ledger, labels):
        found = values_of_trial(history, labels, tasks, primary_metric)
        yield history.trial, {metric: fmean(values) for metric, values in found}
