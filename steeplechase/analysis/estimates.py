"""Estimates with t-distributed errors: value, standard error and degrees of freedom, one per cell of an array.

Every test of this folder that compares means returns them, so that intervals, equivalence, power and corrections for
several tests take one form. A cell with too few seeds, or whose seeds show no spread, is NaN.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steeplechase.analysis.distributions import Values, t_p, t_quantile, t_upper
from steeplechase.analysis.shapes import Float

ROUNDING = 1e-9
"""Spread that counts as none, as a share of the largest value."""


@dataclass(frozen=True)
class Moments:
    """Number of values, mean and sample variance per sample; the variance is NaN for fewer than two values."""

    n: Values
    mean: Values
    variance: Values


@dataclass(frozen=True)
class Estimates:
    """Estimates of true values; (value - truth) / standard error is t-distributed with the degrees of freedom."""

    value: Values
    standard_error: Values
    degrees: Values
    beside: "Estimates | None" = field(default=None, kw_only=True)
    """The same values by another test: p is the larger of both, an interval at any level the wider of both."""

    def __getitem__(self, cells: Any) -> "Estimates":
        """Return some cells."""
        beside = None if self.beside is None else self.beside[cells]
        return Estimates(self.value[cells], self.standard_error[cells], self.degrees[cells], beside=beside)

    def __neg__(self) -> "Estimates":
        """Return the estimates of the true values with the other sign."""
        beside = None if self.beside is None else -self.beside
        return Estimates(-self.value, self.standard_error, self.degrees, beside=beside)

    def t(self, truth: ArrayLike = 0.0) -> Values:
        """Return t for a true value; NaN where there is no spread."""
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = self.value - np.asarray(truth, dtype=np.float64)
            return np.asarray(np.where(self.standard_error > 0, difference / self.standard_error, np.nan))

    def p(self, truth: ArrayLike = 0.0) -> Values:
        """Return the two-sided p of a true value."""
        own = t_p(self.t(truth), self.degrees)
        return own if self.beside is None else np.fmax(own, self.beside.p(truth))

    def p_above(self, truth: ArrayLike = 0.0) -> Values:
        """Return the one-sided p of the hypothesis that the true value is at most `truth`."""
        own = t_upper(self.t(truth), self.degrees)
        return own if self.beside is None else np.fmax(own, self.beside.p_above(truth))

    def p_below(self, truth: ArrayLike = 0.0) -> Values:
        """Return the one-sided p of the hypothesis that the true value is at least `truth`."""
        return (-self).p_above(np.negative(truth))

    def half_width(self, alpha: ArrayLike) -> Values:
        """Return half the width of the two-sided interval at the level 1 - alpha; infinite for alpha = 0."""
        own = t_quantile(alpha, self.degrees) * self.standard_error
        return np.asarray(own if self.beside is None else np.fmax(own, self.beside.half_width(alpha)))

    def interval(self, alpha: ArrayLike = 0.05) -> tuple[Values, Values]:
        """Return the bounds of the two-sided interval at the level 1 - alpha; infinite for alpha = 0."""
        half_width = self.half_width(alpha)
        return self.value - half_width, self.value + half_width


def moments(values: Float[np.ndarray, "*samples seeds"]) -> Moments:
    """Return the moments of samples along the last axis; NaN is a missing value."""
    there = ~np.isnan(values)
    n = there.sum(axis=-1).astype(np.float64)
    filled = np.where(there, values, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = filled.sum(axis=-1) / n
        deviations = np.where(there, values - mean[..., None], 0.0)
        variance = (deviations**2).sum(axis=-1) / np.where(n > 1, n - 1, np.nan)
    constant = np.ptp(np.where(there, values, mean[..., None]), axis=-1) <= ROUNDING * np.abs(filled).max(axis=-1)
    return Moments(n, mean, np.where(constant & (n > 1), 0.0, variance))


def one_sample(values: Float[np.ndarray, "*cells seeds"]) -> Estimates:
    """Return the means of samples as estimates: of paired differences, Student's paired t."""
    found = moments(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(found.variance / found.n)
    return Estimates(found.mean, error, np.where(found.n > 1, found.n - 1, np.nan))
