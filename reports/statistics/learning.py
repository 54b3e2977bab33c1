"""Which seeds of an arm have begun to learn: those that left the plateau of the loss (`analysis/plateau.py`).

A run that stays at the loss of a model without context is another kind of result than one that learns. Arms are told
apart by how many of their seeds learn, by Fisher's exact test, and their means by the seeds that do. The arms of one
pretraining objective share a plateau. Where no curve stays on one, every seed counts as having left.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from steeplechase.analysis.exact_interval import clopper_pearson
from steeplechase.analysis.plateau import plateau_of
from steeplechase.analysis.proportions import unseen_at_most
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.ledger.arm_values import NestedArmValues
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import Pretraining, finite_points
from steeplechase.ledger.trial_history import TrialHistory


@dataclass(frozen=True)
class Learning:
    """The seeds of one arm, each with the tokens at which it left the plateau; None where it has not left."""

    exits: Mapping[int, float | None]
    level: float
    """The loss on the plateau, in nats."""

    @property
    def seeds(self) -> int:
        """How many seeds have a training curve."""
        return len(self.exits)

    @cached_property
    def stayed(self) -> frozenset[int]:
        """The seeds that have not left."""
        return frozenset(seed for seed, exit_ in self.exits.items() if exit_ is None)

    @property
    def left(self) -> int:
        """How many seeds have left."""
        return self.seeds - len(self.stayed)

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95% interval of the share of seeds that leave."""
        return clopper_pearson(self.left, self.seeds)

    @property
    def unseen(self) -> float:
        """The largest share of seeds that may stay although none did, at 95%."""
        return unseen_at_most(self.seeds)

    def __str__(self) -> str:
        """Return `3 of 5`."""
        return f"{self.left} of {self.seeds}"


def learning_of(snapshot: Snapshot) -> dict[str, Learning]:
    """Return by arm which seeds left; only of arms with a plateau in the curves of their objective."""
    groups: dict[str, list[TrialHistory]] = defaultdict(list)
    objectives = {arm.name: canonical_text(canonical(arm.candidate.objective)) for arm in snapshot.arms}
    for history in snapshot.histories:
        groups[objectives.get(history.trial.arm, "")].append(history)
    found: dict[str, dict[int, float | None]] = defaultdict(dict)
    levels: dict[str, float] = {}
    for histories in groups.values():
        curves = {each.trial.name: _training_curve(each) for each in histories}
        plateau = plateau_of(curves)
        for each in histories if plateau is not None else ():
            if plateau is not None and each.trial.name in plateau.exits:
                found[each.trial.arm][each.trial.seed] = plateau.exits[each.trial.name]
                levels[each.trial.arm] = plateau.level
    return {arm: Learning(exits, levels[arm]) for arm, exits in found.items()}


def _training_curve(history: TrialHistory) -> dict[int, float]:
    curve: dict[int, float] = {}
    for record in history.finished(PRETRAIN):
        if isinstance(record.result, Pretraining):
            curve |= finite_points(record.result.train_curve)
    return curve


def values_of_learners(nested: NestedArmValues, learning: Mapping[str, Learning]) -> NestedArmValues:
    """Return the values of the seeds that left their plateau."""
    return {
        arm: {
            metric: {seed: values for seed, values in sample.items() if seed not in stayed_of(arm, learning)}
            for metric, sample in by_metric.items()
        }
        for arm, by_metric in nested.items()
    }


def examples_of_learners(
    tables: Mapping[str, ExampleTable], learning: Mapping[str, Learning]
) -> Mapping[str, ExampleTable]:
    """Return the values of single examples under the seeds that left their plateau."""
    return {name: _of_learners(table, learning) for name, table in tables.items()}


def _of_learners(table: ExampleTable, learning: Mapping[str, Learning]) -> ExampleTable:
    kept = [n for n, each in enumerate(table.replicates) if each.seed not in stayed_of(each.arm, learning)]
    if len(kept) == len(table.replicates):
        return table
    return replace(table, replicates=tuple(table.replicates[n] for n in kept), values=table.values[kept])


def stayed_of(arm: str, learning: Mapping[str, Learning]) -> frozenset[int]:
    """Return the seeds of an arm that have not left."""
    return learning[arm].stayed if arm in learning else frozenset()


def partly(arms: Iterable[str], learning: Mapping[str, Learning]) -> dict[str, Learning]:
    """Return of some arms those of which not every seed left."""
    return {arm: learning[arm] for arm in arms if arm in learning and learning[arm].stayed}
