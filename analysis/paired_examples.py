"""Two models on the same examples: exact tests of McNemar and of signs, and Wilcoxon's signed ranks.

They compare two trained models, not two arms: seeds are not in them (Dror et al. 2018, "The hitchhiker's guide to
testing statistical significance in NLP").
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from analysis.distributions import even_odds_below

SMALLEST_SAMPLE = 20
"""Differing examples below which the normal approximation of the signed ranks is not used."""

Examples = Float[np.ndarray, "examples"]


@dataclass(frozen=True)
class SignTest:
    """On how many examples each model has the larger value, and the two-sided p of equal odds."""

    larger: int
    smaller: int
    p: float


def sign_test(values: Examples, others: Examples) -> SignTest:
    """Return the exact sign test of paired values; ties are left out. Of answers scored 0 or 1 it is McNemar's.

    McNemar 1947, Psychometrika 12, 153, in its exact form: the binomial distribution of the examples that differ.
    """
    differences = np.asarray(values, np.float64) - np.asarray(others, np.float64)
    larger, smaller = int((differences > 0).sum()), int((differences < 0).sum())
    return SignTest(larger, smaller, min(1.0, 2 * float(even_odds_below(min(larger, smaller), larger + smaller))))


def mcnemar(correct: Examples, others: Examples) -> SignTest:
    """Return McNemar's exact test of answers that are 0 or 1. Raises ValueError for others."""
    if not (np.isin(correct, (0, 1)).all() and np.isin(others, (0, 1)).all()):
        raise ValueError("McNemar's test is of answers scored 0 or 1")
    return sign_test(correct, others)


def signed_rank_p(values: Examples, others: Examples) -> float | None:
    """Return the two-sided p of Wilcoxon's signed ranks by the normal approximation, ties and all.

    Wilcoxon 1945, Biometrics Bulletin 1, 80. Examples that do not differ are left out; None where too few are left.
    """
    differences = np.asarray(values, np.float64) - np.asarray(others, np.float64)
    differences = differences[differences != 0]
    n = len(differences)
    if n < SMALLEST_SAMPLE:
        return None
    _, ranks_of, counts = np.unique(np.abs(differences), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[ranks_of]
    positive = float(ranks[differences > 0].sum())
    tied = float((counts.astype(np.float64) ** 3 - counts).sum()) / 48
    variance = n * (n + 1) * (2 * n + 1) / 24 - tied
    return math.erfc(abs(positive - n * (n + 1) / 4) / math.sqrt(2 * variance))
