"""Estimates with t-distributed errors: contrasts, two-way analysis of variance, power, detectable effects.

Welch 1947; Satterthwaite 1946; Searle, Casella and McCulloch 1992, chapter 4. Power is an
integral over the normal distribution of the estimate.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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


def over_seeds_and_examples(values: np.ndarray, others: np.ndarray, paired: bool) -> Estimate:
    """Return the difference of the means of [seeds examples] by the two-way analysis of variance.

    Degrees of freedom after Satterthwaite are rounded down; no component of variance is below 0.
    """
    samples = [values - others] if paired else [values, -others]
    of_seeds, terms = 0.0, []
    for sample in samples:
        seeds, examples = sample.shape
        by_seed, by_example = sample.mean(axis=1), sample.mean(axis=0)
        residual = sample - by_seed[:, None] - by_example + sample.mean()
        free = (seeds - 1) * (examples - 1)
        of_seeds += by_seed.var(ddof=1) / seeds
        terms += [(by_seed.var(ddof=1) / seeds, seeds - 1)]
        terms += [(-((residual**2).sum() / free) / (seeds * examples), free)]
    examples = values.shape[1]
    of_examples = np.sum([sample.mean(axis=0) for sample in samples], axis=0).var(ddof=1) / examples
    terms += [(of_examples, examples - 1)]
    total = max(sum(term for term, _ in terms), of_seeds, of_examples)
    spread = sum(term**2 / free for term, free in terms)
    degrees = max(1, math.floor(total**2 / spread * (1 + NO_SPREAD))) if spread else 1
    value = float(sum(sample.mean() for sample in samples))
    return Estimate(value, math.sqrt(total), float(degrees), min(map(len, (values, others))))


def wider(found: Estimate, other: Estimate | None) -> Estimate:
    """Return the estimate with the larger error and the fewer degrees of freedom of both."""
    if other is None:
        return found
    return Estimate(found.value, np.fmax(found.error, other.error), np.fmin(found.degrees, other.degrees), found.n)


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
