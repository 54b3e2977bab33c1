"""One value per arm, metric and pretraining seed: the mean over the fine-tuning seeds where there are several."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from analysis.effects import SeedValues
from analysis.variance_components import NestedValues
from configuration.metrics import PrimaryMetric
from ledger.metrics import values_of_trial
from ledger.snapshot import Snapshot

ArmValues = Mapping[str, Mapping[str, SeedValues]]
"""Arm -> metric -> pretraining seed -> value."""

NestedArmValues = Mapping[str, Mapping[str, NestedValues]]
"""Arm -> metric -> pretraining seed -> one value per fine-tuning seed."""


def nested_values_of(snapshot: Snapshot, tasks: Iterable[str], primary: PrimaryMetric) -> NestedArmValues:
    """Return every measured value."""
    known = tuple(tasks)
    values: dict[str, dict[str, dict[int, tuple[float, ...]]]] = {arm.name: {} for arm in snapshot.arms}
    for history in snapshot.histories:
        of_arm = values.setdefault(history.trial.arm, {})
        for metric, found in values_of_trial(history, snapshot.labels, known, primary):
            of_arm.setdefault(metric, {})[history.trial.seed] = found
    return values


def means_of(nested: NestedArmValues) -> ArmValues:
    """Return one value per pretraining seed: the mean over its fine-tuning seeds."""
    return {
        arm: {metric: {seed: fmean(values) for seed, values in sample.items()} for metric, sample in of_arm.items()}
        for arm, of_arm in nested.items()
    }
