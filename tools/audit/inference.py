"""Estimates with t-distributed errors: contrasts, two-way analysis of variance, power, detectable effects.

Welch 1947; Satterthwaite 1946; Searle, Casella and McCulloch 1992, chapter 4. Power is an
integral over the normal distribution of the estimate.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special, stats

ALPHA = 0.05
POWER = 0.8
NO_SPREAD = 1e-9
"""Spread that counts as none, as a share of the largest value."""
MOST_SEEDS = 100
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
FAR = 9.0
"""Standard deviations beyond which a normal distribution has no weight."""

BySeed = Mapping[int, float]
"""One value per pretraining seed."""
ByExample = Mapping[int, np.ndarray]
"""Values of the same examples by pretraining seed."""


@dataclass(frozen=True)
class Estimate:
    """An estimate; (value - truth) / error is t-distributed. NaN where there are too few seeds or no spread."""

    value: float = math.nan
    error: float = math.nan
    degrees: float = math.nan
    n: int = 0
    """Number of pairs; unpaired, the number of seeds of the arm that has fewest."""

    @property
    def known(self) -> bool:
        """Whether there is a spread, and with it a test."""
        return self.error > 0 and self.degrees > 0

    @property
    def p(self) -> float | None:
        """Two-sided p of a true value of 0."""
        return 2 * min(self.p_above(0.0), self.p_below(0.0)) if self.known else None

    def p_above(self, bound: float) -> float:
        """Return the p of "the true value is at most the bound"."""
        return float(stats.t.sf((self.value - bound) / self.error, self.degrees))

    def p_below(self, bound: float) -> float:
        """Return the p of "the true value is at least the bound"."""
        return float(stats.t.cdf((self.value - bound) / self.error, self.degrees))

    def interval(self, alpha: float = ALPHA) -> tuple[float | None, float | None]:
        """Return the two-sided interval at 1 - alpha; a point without spread, unknown for one seed."""
        if self.n > 1 and self.error == 0:
            return self.value, self.value
        if not self.known or self.n < 2:
            return None, None
        half = float(stats.t.isf(alpha / 2, self.degrees)) * self.error
        return self.value - half, self.value + half


def variance(values: Sequence[float]) -> float:
    """Return the sample variance, 0 for values that differ by rounding alone, NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    spread = max(values) - min(values) > NO_SPREAD * max(map(abs, values))
    return float(np.var(values, ddof=1)) if spread else 0.0


def contrast(samples: Sequence[BySeed], weights: Sequence[float], paired: bool = False) -> Estimate:
    """Return a weighted sum of arm means; paired, the mean of the weighted sums by seed."""
    if not samples or not all(samples):
        return Estimate()
    if paired:
        seeds = sorted(set.intersection(*(set(sample) for sample in samples)))
        sums = {seed: sum(w * s[seed] for w, s in zip(weights, samples, strict=True)) for seed in seeds}
        return contrast([sums], [1.0]) if sums else Estimate()
    n = [len(sample) for sample in samples]
    value = math.fsum(w * math.fsum(s.values()) / len(s) for w, s in zip(weights, samples, strict=True))
    terms = [w * w * variance([*s.values()]) / len(s) for w, s in zip(weights, samples, strict=True)]
    total = sum(terms)
    free = sum(term**2 / (size - 1) for term, size in zip(terms, n, strict=True)) if min(n) > 1 else math.nan
    return Estimate(value, math.sqrt(total), total**2 / free if free > 0 else math.nan, min(n))


def difference(values: BySeed, others: BySeed, paired: bool = False) -> Estimate:
    """Return the difference of two means."""
    return contrast([values, others], [1.0, -1.0], paired)


def over_seeds_and_examples(
    samples: Sequence[BySeed],
    sets: Sequence[Sequence[ByExample]],
    weights: Sequence[float],
    paired: bool,
    as_resampled: bool = False,
) -> Estimate:
    """Return a weighted sum of arm means by the two-way analysis of variance; every set has the same arms.

    The variance is that of seeds, and for each set of examples that of examples less the residual that both contain;
    where asked for, that of a bootstrap of seeds and examples in closed form (Owen 2007).
    Degrees of freedom after Satterthwaite are rounded down; no component of variance is below 0.
    """
    if paired:
        samples, weights_of_sets = [_paired_sum(samples, weights)], [1.0]
        sets = [[_paired_sum(arms, weights)] for arms in sets]
    else:
        weights_of_sets = [*weights]
    squares = [weight**2 for weight in weights_of_sets]
    seeds, examples, residuals = [], [], []  # sums of squares over squared numbers of values, numbers, free degrees
    for square, sample in zip(squares, samples, strict=True):
        n = len(sample)
        seeds.append((square * float(np.var([*sample.values()])) / n, n, n - 1))
    for arms in sets:
        tables = [np.stack([each[seed] for seed in sorted(each)]) for each in arms]
        means = sum(w * table.mean(axis=0) for w, table in zip(weights_of_sets, tables, strict=True))
        examples.append((float(np.var(means)) / means.size, means.size, means.size - 1))
        for square, table in zip(squares, tables, strict=True):
            left = table - table.mean(axis=1)[:, None] - table.mean(axis=0) + table.mean()
            free = (table.shape[0] - 1) * (table.shape[1] - 1)
            residuals.append((square * float((left**2).mean()) / table.size, table.size, free))
    sums = [
        [(term if as_resampled else term * count / free, free) for term, count, free in terms]
        for terms in (seeds, examples, residuals)
    ]
    of_seeds, of_examples, of_both = (sum(term for term, _ in terms) for terms in sums)
    unbiased = max(of_seeds + of_examples - of_both, of_seeds, of_examples)
    total = of_seeds + of_examples + of_both if as_resampled else unbiased
    spread = sum(term**2 / free for terms in sums for term, free in terms)
    degrees = max(1, math.floor(total**2 / spread * (1 + NO_SPREAD))) if spread else 1
    value = sum(w * float(np.mean([*s.values()])) for w, s in zip(weights_of_sets, samples, strict=True))
    return Estimate(value, math.sqrt(total), float(degrees), min(map(len, samples)))


def _paired_sum(arms: Sequence[Mapping[int, Any]], weights: Sequence[float]) -> dict[int, Any]:
    shared = set.intersection(*(set(arm) for arm in arms))
    return {seed: sum(w * arm[seed] for w, arm in zip(weights, arms, strict=True)) for seed in sorted(shared)}


def wider(found: Estimate, other: Estimate) -> Estimate:
    """Return the error of the estimate whose 95% interval is wider, at the value of the first."""
    half, half_of_other = (float(stats.t.isf(ALPHA / 2, each.degrees)) * each.error for each in (found, other))
    chosen = other if math.isnan(half) or half_of_other > half else found
    return Estimate(found.value, chosen.error, chosen.degrees, found.n)


def power(shift: float, degrees: float, alpha: float) -> float:
    """Return the power of a two-sided t test for a true value of so many standard errors."""
    quantile = float(stats.t.isf(alpha / 2, degrees))
    return sum(
        _normal_mean(lambda z: special.chdtr(degrees, degrees * ((z + shift) / quantile) ** 2), *piece)
        for piece in ((-FAR, -shift), (-shift, FAR))
    )


def power_within(low: float, high: float, degrees: float, alpha: float) -> float:
    """Return the chance that the interval at 1 - alpha lies between two bounds, in standard errors from the truth."""
    quantile, middle = float(stats.t.isf(alpha / 2, degrees)), (low + high) / 2
    return sum(
        _normal_mean(lambda z, end=end: special.chdtr(degrees, degrees * ((z - end) / quantile) ** 2), *piece)
        for end, piece in ((low, (low, middle)), (high, (middle, high)))
    )


def _normal_mean(chance: Callable[..., np.ndarray], low: float, high: float) -> float:
    """Return the integral of a chance over a part of the standard normal distribution.

    The chance is that of a chi-squared variance small enough for the value at hand, which is smooth in each part.
    """
    low, high = max(low, -FAR), min(high, FAR)
    if low >= high:
        return 0.0
    z = low + (NODES + 1) / 2 * (high - low)
    return float((WEIGHTS / 2 * (high - low) * np.exp(-z * z / 2) * chance(z)).sum() / math.sqrt(2 * math.pi))


def detectable(error: float, degrees: float, alpha: float) -> tuple[float | None, float | None, float | None]:
    """Return the effect detected with 80% power, with the 95% bounds that the error of the variance gives it."""
    if not (error > 0 and degrees > 0 and alpha > 0):
        return None, None, None
    highest = 2.0
    while power(highest, degrees, alpha) < POWER:
        highest *= 2
    shift = optimize.brentq(lambda at: power(at, degrees, alpha) - POWER, 0.0, highest, xtol=1e-12, rtol=1e-14)
    low, high = (math.sqrt(degrees / stats.chi2.ppf(share, degrees)) for share in (1 - ALPHA / 2, ALPHA / 2))
    return error * shift, error * shift * low, error * shift * high


def seeds_needed(chance: Callable[[int], float], start: int) -> int | None:
    """Return the fewest seeds from `start` with 80% power, up to a hundred."""
    return next((seeds for seeds in range(start, MOST_SEEDS + 1) if chance(seeds) >= POWER), None)


def sign_flip_p(differences: Sequence[float]) -> float | None:
    """Return the exact two-sided p over all patterns of signs."""
    if not differences:
        return None
    signs = 1 - 2 * (np.arange(2 ** len(differences))[:, None] >> np.arange(len(differences)) & 1)
    sums = np.abs(signs @ np.array(differences))
    return float(np.mean(sums >= abs(math.fsum(differences)) - NO_SPREAD * sums.max()))


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95% interval of a proportion."""
    found = stats.binomtest(count, total).proportion_ci(method="wilson")
    return float(found.low), float(found.high)
