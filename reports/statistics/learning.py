"""Which seeds of an arm have begun to learn: those that left the plateau of the loss (`analysis/plateau.py`).

A run that stays at the loss of a model without context is another kind of result than one that learns. Arms are told
apart by how many of their seeds learn, by Fisher's exact test, and their means by the seeds that do. The arms of one
pretraining objective share a plateau. Where no curve stays on one, every seed counts as having left.

The curve is that of the training loss, which has the most points. Beside a generator that loss is the sum of two
losses and falls when the generator begins to learn. Where a seed's held-out loss, which is the discriminator's alone,
stays on a plateau, the held-out loss decides for all seeds of the objective.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from search_space.objective.replaced_tokens import ReplacedTokens
from steeplechase.analysis.difference import ALPHA, SeedValues
from steeplechase.analysis.exact_interval import clopper_pearson
from steeplechase.analysis.plateau import plateau_of
from steeplechase.analysis.proportions import smallest_fisher_p, unseen_at_most
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.metrics import NestedArmValues
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import Pretraining, finite_points
from steeplechase.ledger.trial_history import TrialHistory

FEWEST = 2
"""The number of seeds below which a mean has no interval."""
TRAIN_CURVE, HELD_OUT_CURVE = "train_curve", "held_out_curve"


@dataclass(frozen=True)
class Learning:
    """The seeds of one arm, each with the tokens at which it left the plateau; None where it has not left."""

    exits: Mapping[int, float | None]
    level: float
    """The loss on the plateau, in nats."""
    curve: str = TRAIN_CURVE
    """The curve that has the plateau, by its name in the results of pretraining."""

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
    objectives = {arm.name: arm.candidate.objective for arm in snapshot.arms}
    for history in snapshot.histories:
        objective = objectives.get(history.trial.arm)
        groups["" if objective is None else canonical_text(canonical(objective))].append(history)
    found: dict[str, Learning] = {}
    for histories in groups.values():
        found |= _learning_of(histories, isinstance(objectives.get(histories[0].trial.arm), ReplacedTokens))
    return found


def _learning_of(histories: Sequence[TrialHistory], beside_generator: bool) -> Iterator[tuple[str, Learning]]:
    """Yield the arms of one objective with their seeds that left."""
    name, plateau = TRAIN_CURVE, plateau_of(_curves(histories, TRAIN_CURVE))
    held_out = plateau_of(_curves(histories, HELD_OUT_CURVE)) if beside_generator else None
    if held_out is not None and None in held_out.exits.values():
        name, plateau = HELD_OUT_CURVE, held_out
    exits: dict[str, dict[int, float | None]] = defaultdict(dict)
    for each in histories:
        if plateau is not None and each.trial.name in plateau.exits:
            exits[each.trial.arm][each.trial.seed] = plateau.exits[each.trial.name]
    for arm, of_arm in exits.items():
        assert plateau is not None
        yield arm, Learning(of_arm, plateau.level, name)


def _curves(histories: Iterable[TrialHistory], name: str) -> dict[str, dict[int, float]]:
    """Return by trial the finite points of one of its curves."""
    curves: dict[str, dict[int, float]] = {each.trial.name: {} for each in histories}
    for each in histories:
        for record in each.finished(PRETRAIN):
            if isinstance(record.result, Pretraining):
                curves[each.trial.name] |= finite_points(getattr(record.result, name))
    return curves


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


def too_few(learning: Learning | None, values: SeedValues) -> bool:
    """Whether too few seeds learned to compare an arm; a seed without a curve that shows it is told by its value."""
    return learning is not None and learning.left < FEWEST and len(values) < FEWEST


def share_of_a_family(learning: Mapping[str, Learning]) -> float:
    """Return the share of the level that the tests of means have, and those of how many seeds learn: half or all.

    An arm has two tests against the baseline where Fisher's can be significant with as many seeds that left. Where
    it cannot, it is no hypothesis of the family (Tarone 1990, Biometrics 46, 515).
    """
    baseline = learning.get(BASELINE)
    others = [each for arm, each in learning.items() if arm != BASELINE]
    return 0.5 if baseline and any(can_differ(each, baseline) for each in others) else 1.0


def can_differ(arm: Learning, baseline: Learning) -> bool:
    """Whether Fisher's test of two arms can be significant with as many seeds that left."""
    return smallest_fisher_p(arm.left + baseline.left, arm.seeds, baseline.seeds) <= ALPHA


def pair_that_may_differ(arms: Iterable[str], learning: Mapping[str, Learning]) -> list[Learning]:
    """Return the learning of two arms; nothing where Fisher's test of them cannot be significant."""
    pair = [learning[arm] for arm in arms if arm in learning]
    return pair if len(pair) == 2 and can_differ(*pair) else []


def partly(arms: Iterable[str], learning: Mapping[str, Learning]) -> dict[str, Learning]:
    """Return of some arms those of which not every seed left."""
    return {arm: learning[arm] for arm in arms if arm in learning and learning[arm].stayed}
