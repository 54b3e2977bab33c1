"""One value per arm, metric and pretraining seed: the mean over the fine-tuning seeds."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from steeplechase.analysis.difference import NestedValues, SeedValues
from steeplechase.configuration.metrics import HELD_OUT_LOSS, PrimaryMetric
from steeplechase.ledger.metrics import values_of_trial
from steeplechase.ledger.snapshot import Snapshot

ArmValues = Mapping[str, Mapping[str, SeedValues]]
"""Arm -> metric -> pretraining seed -> value."""

NestedArmValues = Mapping[str, Mapping[str, NestedValues]]
"""Arm -> metric -> pretraining seed -> one value per fine-tuning seed."""


def nested_values_of(
    snapshot: Snapshot, tasks: Iterable[str], primary: PrimaryMetric, scored: tuple[str, ...] | None = None
) -> NestedArmValues:
    """Return every measured value; the score is over the tasks of `scored`, by default over all.

    An arm whose held-out loss is another than the baseline's has no value of it.
    """
    task_names = tuple(tasks)
    values: dict[str, dict[str, dict[int, tuple[float, ...]]]] = {arm.name: {} for arm in snapshot.arms}
    other_loss = snapshot.arms_with_other_loss
    for history in snapshot.histories:
        by_metric = values.setdefault(history.trial.arm, {})
        for metric, fine_tuning_values in values_of_trial(history, snapshot.labels, task_names, primary, scored):
            if metric == HELD_OUT_LOSS and history.trial.arm in other_loss:
                continue
            by_metric.setdefault(metric, {})[history.trial.seed] = fine_tuning_values
    return values


def means_of(nested: NestedArmValues) -> ArmValues:
    """Return one value per pretraining seed: the mean over its fine-tuning seeds."""
    return {
        arm: {
            metric: {seed: fmean(values) for seed, values in sample.items()} for metric, sample in by_metric.items()
        }
        for arm, by_metric in nested.items()
    }
