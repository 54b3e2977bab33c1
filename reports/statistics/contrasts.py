"""Weighted sums of arms, such as the difference of two, by the test that decides.

Where the values of single examples were kept, an estimate is the test over seeds or the two-way analysis of variance
over seeds and examples, whichever has the wider 95% interval.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.sampled_examples import SampledExamples
from steeplechase.analysis.difference import Difference, MeanTest, SeedValues
from steeplechase.analysis.effects import contrast_difference, contrast_estimate, interval_of, shared_seeds, wider
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.two_way_variance import two_way_estimate
from steeplechase.ledger.arm_values import ArmValues
from steeplechase.ledger.example_tables import ArmExamples

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
