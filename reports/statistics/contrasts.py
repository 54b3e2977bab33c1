"""Examples that a metric is the mean of, with their values by arm, where a ledger keeps these.

Held-out loss: the sequences of the evaluation set. A task's metric: its dev examples. A score: those of every task in
it. A metric that is no mean over examples, such as Matthews correlation or BLEU, has none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steeplechase.analysis.difference import Difference, MeanTest, SeedValues
from steeplechase.analysis.effects import contrast_difference, contrast_estimate, interval_of, shared_seeds, wider
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.two_way_variance import grouped, two_way_estimate
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE, PrimaryMetric
from steeplechase.ledger.example_tables import ArmExamples, ExampleTable
from steeplechase.ledger.metrics import ArmValues

POINTS = 100.0
"""Of a score; those of single examples are shares."""


@dataclass(frozen=True)
class SampledExamples:
    """One set of examples, answered by every model."""

    count: int
    unit: str
    """What is sampled: `held-out sequences`, or `dev examples of docs_answer`."""
    by_arm: Mapping[str, ArmExamples]
    """What the examples add to the metric: their own values of it, in a score divided by the number of tasks."""

    def has(self, arm: str) -> bool:
        """Whether an arm has values of two seeds, so that examples and seeds can be told apart."""
        return arm in self.by_arm and len(self.by_arm[arm].seeds) > 1


def sampled_examples(
    metric: str,
    tables: Mapping[str, ExampleTable],
    scored: Sequence[str],
    primary: PrimaryMetric,
    predictions_per_sequence: int = 1,
) -> tuple[SampledExamples, ...]:
    """Return the sets of examples of a metric that were kept.

    `scored`: the tasks of the score. With several predictions per sequence the sequences are the examples.
    """
    if metric == HELD_OUT_LOSS:
        losses = tables.get(HELD_OUT_LOSS)
        return () if losses is None else _of_losses(losses, predictions_per_sequence)
    tasks = scored if metric == SCORE else (metric,)
    found = []
    for task in tasks:
        name = task if ":" in task else f"{task}:{primary(task)}"
        if name in tables:
            of_dev = f"dev examples of {name.partition(':')[0]}"
            found += _sampled(tables[name], of_dev, POINTS / len(tasks))
    return tuple(found)


def _of_losses(losses: ExampleTable, predictions_per_sequence: int) -> tuple[SampledExamples, ...]:
    by_sequence = replace(losses, values=grouped(losses.values, predictions_per_sequence))
    return tuple(_sampled(by_sequence, "held-out sequences", 1.0))


def _sampled(table: ExampleTable, unit: str, share: float) -> list[SampledExamples]:
    """Return the examples of a table; none for a single one, which is no sample."""
    count = table.values.shape[1]
    arms = dict.fromkeys(replicate.arm for replicate in table.replicates)
    found = {arm: table.of_arm(arm) for arm in arms}
    scaled = {arm: replace(each, values=each.values * share) for arm, each in found.items()}
    return [SampledExamples(count, unit, scaled)] if count > 1 else []


Weights = Mapping[str, float]
"""By arm; of a contrast they sum to 0."""


@dataclass(frozen=True)
class Contrasts:
    """The estimates of one experiment's contrasts."""

    values: ArmValues
    examples: Callable[[str], Sequence[SampledExamples]]
    """The sets of examples of a metric whose values were kept."""
    test: MeanTest

    def difference(self, weights: Weights, metric: str, confidence: float) -> Difference:
        """Return a contrast with its interval; none where an arm has no values of the metric."""
        samples = self._samples(weights, metric)
        found = contrast_difference(samples, [*weights.values()], confidence, self.test)
        over = None if found.n < 2 else self.over_examples(weights, metric)
        if over is None:
            return found
        return interval_of(wider(self.over_seeds(weights, metric), over), found.n, confidence)

    def estimate(self, weights: Weights, metric: str) -> Estimates:
        """Return a contrast as an estimate of one cell; NaN with too few seeds."""
        return wider(self.over_seeds(weights, metric), self.over_examples(weights, metric))

    def over_seeds(self, weights: Weights, metric: str) -> Estimates:
        """Return a contrast over seeds alone."""
        return contrast_estimate(self._samples(weights, metric), [*weights.values()], self.test)

    def over_examples(self, weights: Weights, metric: str) -> Estimates | None:
        """Return a contrast over seeds and those examples of which every arm has values; None without such examples.

        None also with fewer than two seeds.
        """
        sets = [each for each in self.examples(metric) if all(map(each.has, weights))]
        if self.test is MeanTest.PAIRED:
            sets = [each for each in sets if len(shared_seeds([each.by_arm[arm].seeds for arm in weights])) > 1]
        samples = self._weighted([_as_examples(each) for each in self._samples(weights, metric)], weights)
        if not sets or any(len(each) < 2 for each in samples):
            return None
        parts = [self._weighted([each.by_arm[arm] for arm in weights], weights) for each in sets]
        return two_way_estimate([each[:, 0] for each in samples], parts)

    def _samples(self, weights: Weights, metric: str) -> list[SeedValues]:
        return [self.values.get(arm, {}).get(metric, {}) for arm in weights]

    def _weighted(self, arms: Sequence[ArmExamples], weights: Weights) -> list[np.ndarray]:
        """Return the arms' values times their weights, paired their sum at the seeds that all arms have."""
        if self.test is not MeanTest.PAIRED:
            return [weight * arm.values for weight, arm in zip(weights.values(), arms, strict=True)]
        seeds = shared_seeds([arm.seeds for arm in arms])
        rows = [arm.at(seeds) for arm in arms]
        return [np.sum([weight * each for weight, each in zip(weights.values(), rows, strict=True)], axis=0)]


def _as_examples(sample: SeedValues) -> ArmExamples:
    """Return one value per seed as that of a single example."""
    seeds = tuple(sorted(sample))
    return ArmExamples(seeds, np.array([[sample[seed]] for seed in seeds]).reshape(len(seeds), 1))
