"""Two kinds of seeds: pretraining seeds are the replicates, and each is fine-tuned with the same fine-tuning seeds.

MultiBERTs (Sellam et al. 2021, arXiv 2106.16163): fine-tuning one pretrained model again says nothing of another
pretraining, so an interval is over pretraining seeds. The two are crossed: a fine-tuning seed draws the same head,
order and dropout in every pretraining seed and arm. What an arm gains by one fine-tuning seed is therefore shared by
all its replicates, and no interval over pretraining seeds contains it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

import numpy as np

from foundation.randomness import stream

RESAMPLES = 2000

NestedValues = Mapping[int, Sequence[float]]
"""By pretraining seed, one value per fine-tuning seed."""


@dataclass(frozen=True)
class Spread:
    """Standard deviations over pretraining seeds and, within each, over fine-tuning seeds; None where unknown."""

    pretraining: float | None
    fine_tuning: float | None


def spread_of(samples: Sequence[NestedValues]) -> Spread:
    """Return the components of variance, pooled over arms: a one-way analysis of variance within each arm.

    It takes fine-tuning values as independent within a pretraining seed, so that the part of the variance which a
    fine-tuning seed has in common over pretraining seeds is counted as fine-tuning variance.

    The mean of a pretraining seed's values varies by its own share and by the fine-tuning variance over their
    number; the latter is taken off, and what would be less than nothing is 0.
    """
    within = [variance(values) for sample in samples for values in sample.values() if len(values) > 1]
    means = [[fmean(values) for values in sample.values()] for sample in samples if len(sample) > 1]
    fine_tuning = fmean(within) if within else None
    if not means:
        return Spread(None, None if fine_tuning is None else fine_tuning**0.5)
    degrees = [len(of_arm) - 1 for of_arm in means]
    total = sum(map(lambda of_arm, free: variance(of_arm) * free, means, degrees)) / sum(degrees)
    sizes = [len(values) for sample in samples for values in sample.values()]
    nested = 0.0 if fine_tuning is None else fine_tuning / fmean(sizes)
    return Spread(max(0.0, total - nested) ** 0.5, None if fine_tuning is None else fine_tuning**0.5)


def hierarchical_bootstrap(values: NestedValues, others: NestedValues, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of the paired difference.

    Pretraining seeds are drawn anew, then, within each draw, the fine-tuning seeds of both arms. With few seeds it is
    too narrow (docs/statistics.md has how often it held the truth), so tables show Student's t.
    """
    seeds = sorted(values.keys() & others.keys())
    random = stream(0, "hierarchical bootstrap", len(seeds))
    drawn = random.integers(len(seeds), size=(RESAMPLES, len(seeds)))
    totals = np.zeros(RESAMPLES)
    for column in drawn.T:
        for position, seed in enumerate(seeds):
            rows = np.flatnonzero(column == position)
            for sign, sample in ((1, values[seed]), (-1, others[seed])):
                picks = random.integers(len(sample), size=(len(rows), len(sample)))
                totals[rows] += sign * np.asarray(sample, dtype=np.float64)[picks].mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(totals / len(seeds), (tail, 1 - tail))
    return float(low), float(high)
