"""Everything measured, ready to be compared: arms in the table's order, metrics in theirs, effects on demand."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from reports.effects import Difference, Effect, effect, paired
from reports.metrics import HELD_OUT_LOSS, SCORE, Metric, ordered
from reports.numbers import decimals_for
from reports.setting import Setting
from reports.values import ArmValues, PrimaryMetric, values_of
from runners.designs.arm import BASELINE
from runners.records import ArmRow
from runners.standing import Snapshot, TrialHistory


@dataclass(frozen=True)
class Results:
    """The one thing that tables, the finding and the figures read their numbers from."""

    snapshot: Snapshot
    setting: Setting
    arms: tuple[ArmRow, ...]
    """The baseline first."""
    metrics: tuple[Metric, ...]
    values: ArmValues
    trials: Mapping[str, tuple[TrialHistory, ...]]
    """By arm, in the order of the seeds."""

    def effect(self, arm: str, metric: Metric) -> Effect:
        """Return one arm's effect on one metric."""
        return self._effects[arm, metric.name]

    @cached_property
    def _effects(self) -> Mapping[tuple[str, str], Effect]:
        baseline = self.values.get(BASELINE, {})
        return {
            (arm, metric.name): effect(
                of_arm.get(metric.name, {}), None if arm == BASELINE else baseline.get(metric.name, {})
            )
            for arm, of_arm in self.values.items()
            for metric in self.metrics
        }

    def difference(self, arm: str, other: str, metric: Metric) -> Difference:
        """Return how one arm differs from another on one metric, paired by seed."""
        return paired(self.values[arm].get(metric.name, {}), self.values[other].get(metric.name, {}))

    def decimals(self, metric: Metric) -> int:
        """Return how many decimals a metric is shown with, wherever it is shown: its seeds' spread decides."""
        spreads = [self.effect(arm.name, metric).sd for arm in self.arms]
        return decimals_for(spreads, fallback=3 if metric.name == HELD_OUT_LOSS else 1)

    @property
    def shown(self) -> tuple[Metric, ...]:
        """The metrics that people are shown: of a task its primary one, and no score where it is the only task."""
        lone = len(self.setting.tasks) == 1
        return tuple(metric for metric in self.metrics if not metric.further and not (lone and metric.name == SCORE))

    @property
    def headlines(self) -> tuple[Metric, ...]:
        """The metrics that a finding speaks of: held-out loss and score, or the only task in its place."""
        lone = len(self.setting.tasks) == 1
        return tuple(metric for metric in self.shown if lone or metric.headline)

    @property
    def seeds_in_all(self) -> int:
        """Pretraining seeds that every arm is to have."""
        return len(self.setting.pretraining.seeds)


def results_of(snapshot: Snapshot, setting: Setting, primary: PrimaryMetric) -> Results:
    """Return what the snapshot holds."""
    values = values_of(snapshot, setting.tasks, primary)
    found = {metric for of_arm in values.values() for metric in of_arm}
    arms = tuple(sorted(snapshot.arms, key=lambda arm: (arm.name != BASELINE, arm.position, arm.name)))
    trials: dict[str, list[TrialHistory]] = {arm.name: [] for arm in arms}
    for history in sorted(snapshot.histories, key=lambda history: history.trial.seed):
        trials.setdefault(history.trial.arm, []).append(history)
    grouped = {arm: tuple(histories) for arm, histories in trials.items()}
    return Results(snapshot, setting, arms, ordered(setting.tasks, found), values, grouped)
