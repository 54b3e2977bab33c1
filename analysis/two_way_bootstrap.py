"""Intervals of a difference between two arms over seeds and examples, which are both samples.

Two-way bootstrap: the multi-bootstrap of MultiBERTs (Sellam et al. 2021, arXiv 2106.16163), which resamples seeds
and examples independently of each other. Examples are always paired, seeds where both arms have the same ones.

Two-way analysis of variance: seed and example are crossed random effects, and the variance of the mean follows from
their mean squares (Searle, Casella and McCulloch 1992, chapter 4), with Satterthwaite's degrees of freedom, rounded
down. The percentiles of a resampled mean are too narrow with few seeds, as those of any bootstrap; this is not.

Predictions of one sequence share its text: `grouped` makes the sequence the example.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from analysis.difference import CONFIDENCE
from analysis.estimates import Estimates
from foundation.randomness import stream

RESAMPLES = 4000
NUMBERS_AT_A_TIME = 2**20
"""Bound on the memory of the draws: 16 bytes each."""

ROUNDING = 1e-9

Values = Float[np.ndarray, "seeds examples"]


@dataclass(frozen=True)
class TwoWayInterval:
    """A mean difference over seeds and examples, with its standard error and interval."""

    difference: float
    standard_error: float
    low: float
    high: float


def grouped(values: Values, size: int) -> Values:
    """Return the means of consecutive groups of examples. Raises ValueError where the groups are not of one size."""
    seeds, examples = values.shape
    if examples % size:
        raise ValueError(f"{examples} examples are no groups of {size}")
    return np.asarray(values.reshape(seeds, examples // size, size).mean(axis=2, dtype=np.float64))


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


def two_way_estimate(values: Values, others: Values, *, paired: bool) -> Estimates:
    """Return the difference of means as an estimate of one cell, by the two-way analysis of variance.

    Needs two seeds of each arm and two examples; raises ValueError for fewer, or shapes that do not fit.
    """
    samples = _samples(values, others, paired)
    examples = samples[0].shape[1]
    if examples < 2 or min(map(len, samples)) < 2:
        raise ValueError("an interval over seeds and examples needs two of each")
    terms = [each for sample in samples for each in _seed_terms(sample)]
    of_examples = np.var(sum(sample.mean(axis=0) for sample in samples), ddof=1) / examples
    terms.append((float(of_examples), examples - 1))
    of_seeds = sum(term for term, _ in terms[:-1:2])
    variance = max(sum(term for term, _ in terms), of_seeds, float(of_examples))  # no component is below 0
    spread = sum(term**2 / degrees for term, degrees in terms)
    degrees = max(1, int(variance**2 / spread * (1 + ROUNDING))) if spread else 1
    return Estimates(np.array([_difference(samples)]), np.array([variance**0.5]), np.array([float(degrees)]))


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


def _seed_terms(sample: Values) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return what seeds and, subtracted, the residual add to the variance of the mean, with degrees of freedom."""
    seeds, examples = sample.shape
    residual = sample - sample.mean(axis=1, keepdims=True) - sample.mean(axis=0) + sample.mean()
    degrees = (seeds - 1) * (examples - 1)
    of_seeds = float(np.var(sample.mean(axis=1), ddof=1)) / seeds
    return (of_seeds, seeds - 1), (-float((residual**2).sum()) / degrees / (seeds * examples), degrees)
