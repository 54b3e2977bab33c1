"""Differences of arms with their intervals, and corrections for several tests. What is unknown is NaN.

Over seeds: Welch's t. Over seeds and examples: two crossed random effects, by the mean squares of the
two-way analysis of variance (Searle, Casella and McCulloch 1992, chapter 4). An interval is the wider of the two, a p
the larger.
Corrections: Holm's, and the gate of the headline family as a graph (Bretz, Maurer, Brannath and Posch 2009).
"""

import gc
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

ALPHA, BASELINE = 0.05, "baseline"
ROUNDING = 1e-9  # relative difference of values, and of degrees of freedom from a whole number, that counts as none
NOTHING = 1e-12  # share of alpha that counts as none

BySeed = Mapping[int, Any]  # by pretraining seed, a value of an arm or its values on single examples


class Estimate(NamedTuple):
    """An estimate with its standard error; (value - truth) / error is t-distributed. `n`: fewest seeds of an arm."""

    value: float = math.nan
    error: float = math.nan
    degrees: float = math.nan
    n: int = 0
    narrower: Sequence[tuple[float, float]] = ()
    """Error and degrees of freedom of the other test of the same value, whose 95% interval is narrower."""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a table: n, and the difference with its two-sided 95% interval."""
        low, high = stats.t.interval(1 - ALPHA, self.degrees, loc=self.value, scale=self.error)
        return {"n": self.n, "delta": self.value, "low": float(low), "high": float(high)}

    def tails(self, bound: float) -> tuple[float, float]:
        """Return the one-sided p for a true value above the bound, and for one below."""
        tests = [(self.error, self.degrees), *self.narrower]
        found = [(stats.t.sf(t, df), stats.t.cdf(t, df)) for e, df in tests for t in [(self.value - bound) / e]]
        above, below = zip(*found, strict=True)
        return float(max(above)), float(max(below))

    @property
    def p(self) -> float:
        """The two-sided p of a true value of 0."""
        return 2 * min(self.tails(0.0))


def contrast(samples: Sequence[BySeed], weights: Sequence[float], sets: Sequence[Sequence[BySeed]]) -> Estimate:
    """Return a weighted sum of the means of arms.

    `samples`: by arm, one value per seed. `sets`: by set of examples and arm, what each example adds to the value.
    """
    values, *tables = [_weighted(arms, weights) for arms in (samples, *sets)]
    n = min(map(len, values))
    if n == 0:
        return Estimate()
    value = math.fsum(float(arm.mean()) for arm in values)
    values = [arm if np.ptp(arm) > ROUNDING * np.abs(arm).max() else np.full_like(arm, arm[0]) for arm in values]
    answered = [arms for arms in tables if min(map(len, arms)) > 1]
    found = [_over_seeds(values)] if n > 1 and any(map(np.ptp, values)) else []
    found += [_two_way(values, answered)] if n > 1 and answered else []
    narrower = sorted(found, key=lambda each: stats.t.isf(ALPHA / 2, each[1]) * each[0])
    widest = narrower.pop() if narrower else (math.nan, math.nan)
    return Estimate(value, *widest, n, narrower)


def _weighted(arms: Sequence[BySeed], weights: Sequence[float]) -> list[np.ndarray]:
    by_seed = ([arm[seed] for seed in sorted(arm)] for arm in arms)
    return [weight * np.array(values, float) for weight, values in zip(weights, by_seed, strict=True)]


def _over_seeds(values: Sequence[np.ndarray]) -> tuple[float, float]:
    terms = np.array([DescrStatsW(arm).std_mean ** 2 for arm in values])
    return math.sqrt(terms.sum()), float(terms.sum() ** 2 / sum(terms**2 / [len(arm) - 1 for arm in values]))


def _two_way(values: Sequence[np.ndarray], sets: Sequence[Sequence[np.ndarray]]) -> tuple[float, float]:
    """Return standard error and degrees of freedom over seeds and examples; no component of variance is below 0."""
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
    return float(np.var(values)) / degrees, degrees


def holm(p_values: Sequence[float] | np.ndarray, share: float = 1.0) -> np.ndarray:
    """Return the adjusted p of every test that has one; `share`: of alpha, for all of them."""
    p = np.minimum(1.0, np.array(p_values, float) / share)
    known = ~np.isnan(p)
    if known.any():
        gc.freeze()  # multipletests collects garbage in every call: half of the time of an audit
        p[known] = multipletests(p[known], ALPHA, "holm")[1]
        gc.unfreeze()
    return p


def gated(cells: Sequence[Estimate], metrics: int, share: float = 1.0) -> np.ndarray:
    """Return the adjusted p of the headline cells: every arm on the first metric, then every arm on the second.

    Each arm has a share of alpha on the first. Once that is rejected, its second has the share, and passes it on to
    the first metric of the other arms. Every hypothesis is two, "not above 0" and "not below 0", with half of it.
    """
    arms = len(cells) // metrics
    none, others = np.zeros((arms, arms)), (np.ones((arms, arms)) - np.eye(arms)) / max(1, arms - 1)
    shares, edges = np.full(arms, 1 / arms), others
    if metrics == 2:
        shares, edges = np.append(shares, np.zeros(arms)), np.block([[none, np.eye(arms)], [others, none]])
    p = np.transpose([cell.tails(0.0) for cell in cells]).ravel() / share
    adjusted = rejected_in_sequence(p, np.tile(shares / 2, 2), np.tile(edges / 2, (2, 2)))
    return np.asarray(adjusted.reshape(2, -1).min(axis=0))


def rejected_in_sequence(p: np.ndarray, shares: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the adjusted p of every hypothesis; one without a test passes its share on first."""
    adjusted, left, highest = np.full_like(p, np.nan), ~np.isnan(p), 0.0
    for place in np.flatnonzero(~left).tolist():
        shares, edges = _passed_on(shares, edges, place)
    while left.any():
        ratios = np.where(left, p / np.maximum(shares, NOTHING), np.inf)
        first = int(ratios.argmin())
        adjusted[first] = highest = max(highest, min(1.0, ratios[first]))
        shares, edges = _passed_on(shares, edges, first)
        left[first] = False
    return adjusted


def _passed_on(shares: np.ndarray, edges: np.ndarray, gone: int) -> tuple[np.ndarray, np.ndarray]:
    out, into = edges[gone], edges[:, gone]
    shares = shares + shares[gone] * out
    stays = 1 - into * out  # the rest would return to where it came from
    edges = (edges + np.outer(into, out)) / np.where(stays > NOTHING, stays, np.inf)[:, None]
    np.fill_diagonal(edges, 0.0)
    shares[gone], edges[gone], edges[:, gone] = 0.0, 0.0, 0.0
    return shares, edges
