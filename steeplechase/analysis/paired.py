"""Differences paired by seed: interval of the mean and Student's t; Holm's correction."""

from collections.abc import Sequence
from statistics import fmean, stdev

from steeplechase.analysis.distributions import t_p as students_t_p
from steeplechase.analysis.distributions import t_quantile

ROUNDING = 1e-9
"""Tolerance for equal differences, as a share of the largest one."""


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
