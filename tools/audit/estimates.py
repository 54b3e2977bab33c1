"""Differences of arms with their intervals: Welch's or the paired t over seeds, or over seeds and examples.

Over seeds and examples, two crossed random effects, by the mean squares of the two-way analysis of variance (Searle,
Casella and McCulloch 1992, chapter 4) with Satterthwaite's degrees of freedom. The wider of the two decides.
What is unknown is NaN.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

ALPHA = 0.05
ROUNDING = 1e-9
"""Relative difference that counts as none: of values, and of degrees of freedom from a whole number."""

BySeed = Mapping[int, Any]
"""By pretraining seed, a value of an arm or its values on single examples."""


class Estimate(NamedTuple):
    """An estimate with its standard error; (value - truth) / error is t-distributed. `n`: fewest seeds of an arm."""

    value: float = math.nan
    error: float = math.nan
    degrees: float = math.nan
    n: int = 0

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a table: n, and the difference with its two-sided 95% interval."""
        low, high = stats.t.interval(1 - ALPHA, self.degrees, loc=self.value, scale=self.error)
        return {"n": self.n, "delta": self.value, "low": float(low), "high": float(high)}

    def tails(self, bound: float) -> tuple[float, float]:
        """Return the one-sided p for a true value above the bound, and for one below."""
        t = (self.value - bound) / self.error
        return float(stats.t.sf(t, self.degrees)), float(stats.t.cdf(t, self.degrees))

    @property
    def p(self) -> float:
        """The two-sided p of a true value of 0."""
        return 2 * min(self.tails(0.0))


def contrast(
    samples: Sequence[BySeed], weights: Sequence[float], sets: Sequence[Sequence[BySeed]], paired: bool
) -> Estimate:
    """Return a weighted sum of the means of arms.

    `samples`: by arm, one value per seed. `sets`: by set of examples and arm, what each example adds to the value.
    """
    values, *tables = [_weighted(arms, weights, paired) for arms in (samples, *sets)]
    n = min(map(len, values))
    if n == 0:
        return Estimate()
    mean = math.fsum(float(arm.mean()) for arm in values)
    answered = [arms for arms in tables if min(map(len, arms)) > 1]
    found = [_over_seeds(values)] if n > 1 and any(map(_varies, values)) else []
    found += [_over_seeds_and_examples(values, answered)] if n > 1 and answered else []
    widest = max(found, key=lambda each: stats.t.isf(ALPHA / 2, each[1]) * each[0], default=(math.nan, math.nan))
    return Estimate(mean, *widest, n)


def _weighted(arms: Sequence[BySeed], weights: Sequence[float], paired: bool) -> list[np.ndarray]:
    """Return the values of every arm times its weight; paired, their sum for the seeds that all of them have."""
    shared = set.intersection(*map(set, arms))
    seeds = [sorted(shared if paired else arm) for arm in arms]
    values = [w * np.array([arm[s] for s in of], float) for arm, w, of in zip(arms, weights, seeds, strict=True)]
    return [np.sum(values, axis=0)] if paired else values


def _varies(values: np.ndarray) -> bool:
    """Whether values differ by more than rounding."""
    return bool(np.ptp(values) > ROUNDING * np.abs(values).max())


def _over_seeds(values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return standard error and degrees of freedom."""
    described = [DescrStatsW(arm if _varies(arm) else np.zeros(len(arm))) for arm in values]
    if len(described) == 2:
        means = CompareMeans(*described)
        return float(means.std_meandiff_separatevar), float(means.dof_satt())
    terms = np.array([arm.std_mean**2 for arm in described])
    return math.sqrt(terms.sum()), float(terms.sum() ** 2 / sum(terms**2 / [len(arm) - 1 for arm in values]))


def _over_seeds_and_examples(
    values: Sequence[np.ndarray], sets: Sequence[Sequence[np.ndarray]]
) -> tuple[float, float]:
    """Return standard error and degrees of freedom, which are rounded down; no component of variance is below 0."""
    seeds, examples, residuals = [_term(arm, len(arm) - 1) for arm in values], [], []
    for tables in sets:
        examples.append(_term(sum(table.mean(axis=0) for table in tables), tables[0].shape[1] - 1))
        for table in tables:
            additive = table.mean(axis=0) + table.mean(axis=1, keepdims=True) - table.mean()
            residuals.append(_term(table - additive, math.prod(size - 1 for size in table.shape)))
    of_seeds, of_examples, of_both = (sum(term for term, _ in terms) for terms in (seeds, examples, residuals))
    variance = max(of_seeds + of_examples - of_both, of_seeds, of_examples)  # both contain the residual
    spread = sum(term**2 / degrees for term, degrees in (*seeds, *examples, *residuals))
    degrees = math.floor(variance**2 / spread * (1 + ROUNDING)) if spread else 1
    return math.sqrt(variance), float(max(1, degrees))


def _term(values: Any, degrees: int) -> tuple[float, int]:
    """Return what a mean square adds to the variance of the mean, and its degrees of freedom."""
    return float(np.var(values)) / degrees, degrees
