"""Variance components of pretraining seeds, the replicates, and of fine-tuning seeds, nested in them.

MultiBERTs (Sellam et al. 2021, arXiv 2106.16163): further fine-tuning runs of one pretrained model are not replicates
of pretraining, so intervals are over pretraining seeds. Head, order and dropout of a fine-tuning are drawn from both
seeds, so the values within a pretraining seed are independent draws, and the intervals include their variance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, harmonic_mean, variance

NestedValues = Mapping[int, Sequence[float]]
"""By pretraining seed, one value per fine-tuning seed."""


@dataclass(frozen=True)
class Spread:
    """Standard deviations over pretraining seeds and, within each, over fine-tuning seeds; None where unknown."""

    pretraining: float | None
    fine_tuning: float | None


def spread_of(samples: Sequence[NestedValues]) -> Spread:
    """Return the components of variance, pooled over arms: a one-way analysis of variance within each arm.

    The variance of a pretraining seed's mean is its own component plus the fine-tuning variance divided by the
    number of values; the latter is subtracted, and a negative result is set to 0. Where seeds have different numbers
    of values, variances are pooled by degrees of freedom and the number is the harmonic mean.
    """
    several = [values for sample in samples for values in sample.values() if len(values) > 1]
    compared = [sample for sample in samples if len(sample) > 1]
    means = [[fmean(values) for values in sample.values()] for sample in compared]
    fine_tuning = fmean(map(variance, several), [len(values) - 1 for values in several]) if several else None
    if not means:
        return Spread(None, None if fine_tuning is None else fine_tuning**0.5)
    degrees = [len(of_arm) - 1 for of_arm in means]
    total = sum(map(lambda of_arm, free: variance(of_arm) * free, means, degrees)) / sum(degrees)
    sizes = [harmonic_mean(map(len, sample.values())) for sample in compared]
    nested = 0.0 if fine_tuning is None else fine_tuning / harmonic_mean(sizes, degrees)
    return Spread(max(0.0, total - nested) ** 0.5, None if fine_tuning is None else fine_tuning**0.5)
