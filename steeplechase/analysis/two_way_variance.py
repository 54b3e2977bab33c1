"""Contrasts of arms over seeds and examples, both samples, by the two-way analysis of variance.

Seed and example are crossed random effects, and the variance of the mean follows from their mean squares (Searle,
Casella and McCulloch 1992, chapter 4), with Satterthwaite's degrees of freedom, rounded down. The percentiles of a
resampled mean are too narrow with few seeds, as those of any bootstrap; this is not.

A mean over tasks has a set of examples of each task. The sets are drawn independently of each other and answered by
the same seeds, so that their components add up.

Predictions of one sequence share its text: `grouped` makes the sequence the example.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.shapes import Float

ROUNDING = 1e-9

Seeds = Float[np.ndarray, " seeds"]
Values = Float[np.ndarray, "seeds examples"]


class Term(NamedTuple):
    """What a mean square adds to the variance of the estimate."""

    variance: float
    degrees: int


def grouped(values: Values, size: int) -> Values:
    """Return the means of consecutive groups of examples. Raises ValueError where the groups are not of one size."""
    seeds, examples = values.shape
    if examples % size:
        raise ValueError(f"{examples} examples are no groups of {size}")
    return np.asarray(values.reshape(seeds, examples // size, size).mean(axis=2, dtype=np.float64))


def two_way_estimate(samples: Sequence[Seeds], sets: Sequence[Sequence[Values]]) -> Estimates:
    """Return the sum of the means of samples as an estimate of one cell.

    `samples`: values by seed, whose seeds are drawn independently: one per arm, times its weight, or a single one of
    paired differences. `sets`: of each set of examples, what these add to the value of every sample, by seed. What
    no set has (a metric that is no mean over examples) varies over seeds alone.

    Needs two seeds of each sample and two examples of each set; raises ValueError for fewer, or shapes that do not
    fit.
    """
    of_seeds, of_examples, residuals = _terms(samples, sets)
    found = _total(of_seeds) + _total(of_examples) - _total(residuals)  # which both of the others contain
    variance = max(found, _total(of_seeds), _total(of_examples))  # no component is below 0
    spread = sum(term.variance**2 / term.degrees for term in (*of_seeds, *of_examples, *residuals))
    degrees = max(1, int(variance**2 / spread * (1 + ROUNDING))) if spread else 1
    value = float(sum(sample.mean() for sample in samples))
    return Estimates(np.array([value]), np.array([variance**0.5]), np.array([float(degrees)]))


def _terms(samples: Sequence[Seeds], sets: Sequence[Sequence[Values]]) -> tuple[list[Term], list[Term], list[Term]]:
    """Return what seeds, examples and the residual add to the variance of the estimate."""
    _check(samples, sets)
    of_seeds = [_term(sample - sample.mean(), len(sample) - 1) for sample in samples]
    return of_seeds, [*map(_examples_term, sets)], [_residual_term(values) for each in sets for values in each]


def _check(samples: Sequence[Seeds], sets: Sequence[Sequence[Values]]) -> None:
    for values in sets:
        if len(values) != len(samples) or len({each.shape[1] for each in values}) > 1:
            shapes = ", ".join(str(each.shape) for each in values)
            raise ValueError(f"values {shapes} are not of the same examples for {len(samples)} samples")
    seeds = [len(each) for each in (*samples, *(each for values in sets for each in values))]
    if min(seeds) < 2 or any(values[0].shape[1] < 2 for values in sets):
        raise ValueError("an interval over seeds and examples needs two of each")


def _total(terms: Sequence[Term]) -> float:
    return sum(term.variance for term in terms)


def _term(deviations: np.ndarray, degrees: int) -> Term:
    return Term(float((deviations**2).sum()) / degrees / deviations.size, degrees)


def _examples_term(values: Sequence[Values]) -> Term:
    """Return what the examples of a set add, by the sum of all samples' means on each."""
    by_example = np.sum([each.mean(axis=0) for each in values], axis=0)
    return _term(by_example - by_example.mean(), len(by_example) - 1)


def _residual_term(values: Values) -> Term:
    """Return what the residual, the interaction of seeds and examples, adds."""
    seeds, examples = values.shape
    residual = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    return _term(residual, (seeds - 1) * (examples - 1))
