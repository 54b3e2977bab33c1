"""Means, spreads and differences over pretraining seeds: Welch's t, or Student's paired t. Two-sided 95%.

The pretraining seed is the replicate (MultiBERTs, Sellam et al. 2021, arXiv 2106.16163); values of several
fine-tuning seeds are averaged before. All sums are exact, so results are independent of the order of trials.

A contrast is any weighted sum of independent arm means with unequal variances (Welch 1947, Biometrika 34, 28): an arm
against the baseline, or a main effect of a factorial over all of its arms, whose degrees of freedom add up
(Satterthwaite 1946, Biometrics Bulletin 2, 110). Seeds that arms share make it conservative where they correlate the
arms positively.

Equivalence is shown by two one-sided tests (TOST; Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics 15, 657):
a difference lies within a margin that was set beforehand. Both hypotheses, "at most -margin" and "at least margin",
are tested at alpha, so the larger p decides; it is at most alpha if and only if the interval at 1 - 2 alpha, 90% for
5%, lies inside the margin. No correction is due between the two: at most one of them is true.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import fmean, stdev, variance

import numpy as np
from numpy.typing import ArrayLike

from steeplechase.analysis.difference import CONFIDENCE, Difference, Effect, MeanTest, SeedValues
from steeplechase.analysis.distributions import Values
from steeplechase.analysis.estimates import Estimates, Moments
from steeplechase.analysis.paired import interval, vary
from steeplechase.analysis.shapes import Float


def effect(
    values: SeedValues,
    baseline: SeedValues | None,
    confidence: float = CONFIDENCE,
    test: MeanTest = MeanTest.WELCH,
) -> Effect:
    """Return the effect of an arm; for the baseline itself, without a difference."""
    sample = list(values.values())
    return Effect(
        n=len(sample),
        mean=fmean(sample) if sample else None,
        sd=stdev(sample) if len(sample) > 1 else None,
        difference=Difference() if baseline is None else difference_of(values, baseline, confidence, test),
    )


def difference_of(
    values: SeedValues, others: SeedValues, confidence: float = CONFIDENCE, test: MeanTest = MeanTest.WELCH
) -> Difference:
    """Return the mean of `values` minus that of `others` with its interval, for two or more seeds that vary."""
    if test is MeanTest.PAIRED:
        return paired(values, others, confidence)
    return contrast_difference([values, others], [1.0, -1.0], confidence, test)


def contrast_difference(
    samples: Sequence[SeedValues],
    weights: Sequence[float],
    confidence: float = CONFIDENCE,
    test: MeanTest = MeanTest.WELCH,
) -> Difference:
    """Return a weighted sum of arms with its interval; none where an arm has no seeds, no bounds without spread."""
    seeds = shared_seeds(samples) if test is MeanTest.PAIRED else min(samples, key=len, default={})
    if not seeds:
        return Difference()
    return interval_of(contrast_estimate(samples, weights, test), len(seeds), confidence)


def estimate(values: SeedValues, others: SeedValues, test: MeanTest = MeanTest.WELCH) -> Estimates:
    """Return the difference of the means as an estimate of one cell; NaN with too few seeds."""
    return contrast_estimate([values, others], [1.0, -1.0], test)


def contrast_estimate(
    samples: Sequence[SeedValues], weights: Sequence[float], test: MeanTest = MeanTest.WELCH
) -> Estimates:
    """Return a weighted sum of arms as an estimate of one cell; paired, over the seeds that all of them have.

    Unpaired, the degrees of freedom are Satterthwaite's and grow with the number of arms.
    """
    if test is MeanTest.PAIRED:
        by_seed = [
            sum(weight * sample[seed] for weight, sample in zip(weights, samples, strict=True))
            for seed in shared_seeds(samples)
        ]
        found = seed_moments([by_seed])
        with np.errstate(divide="ignore", invalid="ignore"):
            return Estimates(found.mean, np.sqrt(found.variance / found.n), found.n - 1)
    return contrasts(seed_moments([[*sample.values()] for sample in samples]), np.array([weights]))


def wider(found: Estimates, other: Estimates | None) -> Estimates:
    """Return by cell, at the value of the first, the estimate whose 95% interval is wider, and the other beside it.

    A hypothesis is rejected where both reject it, so that at every level the error rate is at most that of either.
    The larger error with the fewer degrees of freedom would be safe too and lose half of the power at three seeds
    (docs/statistics.md).
    """
    if other is None:
        return found
    half, half_of_other = (each.half_width(1 - CONFIDENCE) for each in (found, other))
    takes_other = np.isnan(half) | (half_of_other > half)
    errors, degrees = (found.standard_error, other.standard_error), (found.degrees, other.degrees)
    wide, narrow = (
        (np.where(takes, errors[1], errors[0]), np.where(takes, degrees[1], degrees[0]))
        for takes in (takes_other, ~takes_other)
    )
    return Estimates(found.value, *wide, beside=Estimates(found.value, *narrow))


def equivalence_p(estimates: Estimates, margin: ArrayLike) -> Values:
    """Return the p of "the true value is not within plus and minus the margin"."""
    return np.asarray(np.maximum(estimates.p_above(np.negative(margin)), estimates.p_below(margin)))


def interval_of(found: Estimates, n: int, confidence: float = CONFIDENCE) -> Difference:
    """Return an estimate of one cell as a difference over so many seeds; without bounds where no spread is known."""
    delta = found.value.item()
    if not found.standard_error.item() > 0:
        return Difference(n, delta)
    (low,), (high,) = found.interval(1 - confidence)
    return Difference(n, delta, float(low), float(high))


def shared_seeds(samples: Sequence[Iterable[int]]) -> list[int]:
    """Return the seeds that all samples have, in increasing order."""
    return sorted(set.intersection(*(set(sample) for sample in samples))) if samples else []


def contrasts(arms: Moments, weights: Float[np.ndarray, "contrasts arms"]) -> Estimates:
    """Return every contrast of the arms along the last axis; NaN where an arm with a weight has too few seeds."""
    used = weights != 0
    n = np.where(used, arms.n[..., None, :], 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = weights**2 * np.where(used, arms.variance[..., None, :], 0.0) / n
        total = terms.sum(axis=-1)
        shares = terms / total[..., None]  # squares of the terms themselves may be too small for a float
        degrees = 1 / (shares**2 / (n - 1)).sum(axis=-1)
    values = weights * np.where(used, arms.mean[..., None, :], 0.0)
    return Estimates(values.sum(axis=-1), np.sqrt(total), degrees)


def against_first(arms: Moments) -> Estimates:
    """Return every other arm along the last axis minus the first one."""
    identity = np.eye(arms.mean.shape[-1])
    return contrasts(arms, identity[1:] - identity[0])


def seed_moments(samples: Sequence[Sequence[float]]) -> Moments:
    """Return the moments of samples by exact sums; the variance is 0 for values that differ by rounding alone."""
    return Moments(
        np.array([len(sample) for sample in samples], dtype=np.float64),
        np.array([fmean(sample) if sample else np.nan for sample in samples], dtype=np.float64),
        np.array([_variance(tuple(sample)) for sample in samples], dtype=np.float64),
    )


@lru_cache(maxsize=4096)
def _variance(sample: tuple[float, ...]) -> float:
    """Return the variance of a sample; an arm's is asked for again by every contrast that it is in."""
    if len(sample) < 2:
        return float("nan")
    return variance(sample) if vary(sample) else 0.0


def stacked(estimates: Sequence[Estimates]) -> Estimates:
    """Return estimates of one cell each as estimates of that many cells."""
    parts = ([getattr(each, name) for each in estimates] for name in ("value", "standard_error", "degrees"))
    has_two = any(each.beside is not None for each in estimates)
    beside = stacked([each.beside or each for each in estimates]) if has_two else None
    return Estimates(*(np.concatenate(part) if part else np.empty(0) for part in parts), beside=beside)


def paired(values: SeedValues, others: SeedValues, confidence: float = CONFIDENCE) -> Difference:
    """Return the mean of `values - others` over the seeds they share, with its interval where two or more vary."""
    differences = differences_of(values, others)
    if not differences:
        return Difference()
    if len(differences) == 1 or not vary(differences):
        return Difference(len(differences), fmean(differences))
    low, high = interval(differences, confidence)
    return Difference(len(differences), fmean(differences), low, high)


def differences_of(values: SeedValues, others: SeedValues) -> list[float]:
    """Return `values - others` over the seeds they share, by seed."""
    return [values[seed] - others[seed] for seed in sorted(values.keys() & others.keys())]
