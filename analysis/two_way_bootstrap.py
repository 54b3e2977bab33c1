"""Intervals of a difference between two arms over seeds and examples, which are both samples.

The multi-bootstrap of MultiBERTs (Sellam et al. 2021, arXiv 2106.16163) resamples seeds and examples independently of
each other. Examples are always paired, seeds where both arms have the same ones. Its percentiles are too narrow with
few seeds; the two-way analysis of variance (`analysis/two_way_variance.py`) is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from analysis.difference import CONFIDENCE
from foundation.randomness import stream

RESAMPLES = 4000
NUMBERS_AT_A_TIME = 2**20
"""Bound on the memory of the draws: 16 bytes each."""

Values = Float[np.ndarray, "seeds examples"]


@dataclass(frozen=True)
class TwoWayInterval:
    """A mean difference over seeds and examples, with its standard error and interval."""

    difference: float
    standard_error: float
    low: float
    high: float


def multi_bootstrap(
    values: Values, others: Values, *, paired: bool, confidence: float = CONFIDENCE, resamples: int = RESAMPLES
) -> TwoWayInterval:
    """Return the percentile interval of the difference of means, values minus others.

    `paired`: row i of both is of the same seed, and seeds are resampled once for both. Raises ValueError for shapes
    that do not fit.
    """
    samples = _samples(values, others, paired)
    examples = samples[0].shape[1]
    random = stream(0, "two-way bootstrap", *(len(sample) for sample in samples), examples)
    means = np.empty(resamples)
    at_a_time = max(1, NUMBERS_AT_A_TIME // examples)
    for first in range(0, resamples, at_a_time):
        count = len(means[first : first + at_a_time])
        by_example = sum(_drawn_weights(len(sample), count, random) @ sample for sample in samples)
        drawn = random.integers(examples, size=(count, examples))
        means[first : first + count] = np.take_along_axis(by_example, drawn, axis=1).mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, (tail, 1 - tail))
    return TwoWayInterval(_difference(samples), float(means.std(ddof=1)), float(low), float(high))


def _samples(values: Values, others: Values, paired: bool) -> tuple[Values, ...]:
    """Return what is resampled together: the paired differences, or the values and the negated others."""
    if values.shape[1] != others.shape[1] or (paired and len(values) != len(others)):
        raise ValueError(f"values {values.shape} and others {others.shape} are not of the same seeds and examples")
    one, other = values.astype(np.float64), others.astype(np.float64)
    return (one - other,) if paired else (one, -other)


def _difference(samples: Sequence[Values]) -> float:
    return float(sum(sample.mean() for sample in samples))


def _drawn_weights(seeds: int, count: int, random: np.random.Generator) -> Float[np.ndarray, "count seeds"]:
    """Return the share of each seed in resamples of as many seeds."""
    drawn = random.integers(seeds, size=(count, seeds))
    return np.asarray((drawn[:, :, None] == np.arange(seeds)).mean(axis=1))
