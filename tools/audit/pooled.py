"""One difference at several scales, pooled by random effects.

The variance between scales by the method of moments (DerSimonian and Laird 1986), the interval of Hartung and Knapp
2001 with a factor of at least 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tools.audit.inference import ALPHA, Estimate


@dataclass(frozen=True)
class Pooled:
    """The mean of the true differences at scales like these."""

    delta: float
    low: float
    high: float
    p: float
    between: float
    """Standard deviation of the true differences between scales."""


def pooled(estimates: Sequence[Estimate]) -> Pooled:
    """Return the pooled difference of two or more scales."""
    values = np.array([each.value for each in estimates])
    variances = np.array([each.error for each in estimates]) ** 2
    degrees, fixed = len(values) - 1, 1 / variances
    q = float((fixed * (values - np.average(values, weights=fixed)) ** 2).sum())
    between = max(0.0, (q - degrees) / float(fixed.sum() - (fixed**2).sum() / fixed.sum()))
    weights = 1 / (variances + between)
    delta = float(np.average(values, weights=weights))
    factor = max(1.0, float((weights * (values - delta) ** 2).sum()) / degrees)
    error = math.sqrt(factor / float(weights.sum()))
    half = float(stats.t.isf(ALPHA / 2, degrees)) * error
    p = 2 * float(stats.t.sf(abs(delta) / error, degrees))
    return Pooled(delta, delta - half, delta + half, p, math.sqrt(between))
