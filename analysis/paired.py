"""Differences paired by seed: interval of the mean, Student's t, and the exact sign-flip test.

Fisher 1935, "The Design of Experiments", section 21: under the null hypothesis both signs of a difference are equally
likely. With n pairs there are 2^n sign patterns, so the smallest p is 2^(1 - n): 0.25 for three seeds.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import numpy as np

from analysis.distributions import t_p as students_t_p
from analysis.distributions import t_quantile
from foundation.randomness import stream

EXACT_PAIRS = 16
"""Up to this number all sign patterns are enumerated; beyond, this many are sampled."""
ROUNDING = 1e-9
"""Tolerance for equal sums, as a share of the largest sum."""


def interval(differences: Sequence[float], confidence: float) -> tuple[float, float]:
    """Return the interval of the mean by Student's t. Needs two differences."""
    n = len(differences)
    mean = fmean(differences)
    half_width = float(t_quantile(1 - confidence, n - 1)) * stdev(differences) / n**0.5
    return mean - half_width, mean + half_width


def t_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of Student's paired t; None where fewer than two differ, which shows no noise."""
    n = len(differences)
    if n < 2 or not vary(differences):
        return None
    return float(students_t_p(fmean(differences) / (stdev(differences) / n**0.5), n - 1))


def vary(differences: Sequence[float]) -> bool:
    """Whether differences vary beyond rounding."""
    return max(differences) - min(differences) > ROUNDING * max(map(abs, differences))


def sign_flip_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of the permutation test that flips signs, None without differences."""
    n = len(differences)
    if not n:
        return None
    values = np.sort(np.abs(np.asarray(differences, dtype=np.float64)))
    observed = abs(math.fsum(differences))
    if n <= EXACT_PAIRS:
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return float(np.mean(_reached(signs @ values, observed)))
    signs = 1 - 2 * stream(0, "sign flips", n).integers(2, size=(2**EXACT_PAIRS, n))
    return float((np.sum(_reached(signs @ values, observed)) + 1) / (len(signs) + 1))


def _reached(sums: np.ndarray, observed: float) -> np.ndarray:
    reached: np.ndarray = np.abs(sums) >= observed - ROUNDING * max(observed, float(np.abs(sums).max()))
    return reached


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return the p values after Holm's correction for all known ones. Holm 1979, Scand. J. Statist. 6, 65.

    Controls the family-wise error rate for any dependence between the tests.
    """
    known = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, position) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[position] = highest
    return tuple(adjusted)
