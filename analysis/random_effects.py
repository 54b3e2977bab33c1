"""One effect measured at several scales, pooled: random effects whose mean is estimated with a t interval.

The model: the true effect at a scale is normal around a common mean with variance tau squared, and the estimate is
normal around the true effect with its standard error. Tau squared by the method of moments (DerSimonian and Laird
1986, Controlled Clinical Trials 7, 177); the interval of Hartung and Knapp 2001, Statistics in Medicine 20, 3875,
with k - 1 degrees of freedom, which holds its level for few scales where the normal interval does not. Its factor is
at least 1 (Roever, Knapp and Friede 2015, BMC Medical Research Methodology 15, 99), so that estimates that agree by
chance are not pooled to more precision than their standard errors allow.

The scales were chosen and are no random sample: the mean is that of scales like these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.distributions import t_p, t_quantile


@dataclass(frozen=True)
class PooledEffect:
    """The mean effect with its interval and p, and how much the scales differ."""

    scales: int
    value: float
    low: float
    high: float
    p: float
    between: float
    """Tau, the standard deviation of the true effects between scales."""
    heterogeneity: float
    """I squared: the share of the estimates' variation that is no sampling error. Higgins and Thompson 2002."""


def pooled_effect(values: Sequence[float], errors: Sequence[float], alpha: float = 0.05) -> PooledEffect | None:
    """Return the pooled effect; None below two scales. Raises ValueError for a standard error of 0 or below."""
    effects, variances = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    if not (np.isfinite(effects).all() and np.isfinite(variances).all() and (variances > 0).all()):
        raise ValueError("pooling needs finite effects, each with a standard error above 0")
    free = len(effects) - 1
    if free < 1:
        return None
    fixed = 1 / variances
    q = float(fixed @ (effects - fixed @ effects / fixed.sum()) ** 2)
    scale = fixed.sum() - (fixed**2).sum() / fixed.sum()
    tau_squared = max(0.0, (q - free) / float(scale))
    weights = 1 / (variances + tau_squared)
    mean = float(weights @ effects / weights.sum())
    factor = max(1.0, float(weights @ (effects - mean) ** 2) / free)
    error = (factor / float(weights.sum())) ** 0.5
    half_width = float(t_quantile(alpha, free)) * error
    p = float(t_p(mean / error, free))
    heterogeneity = max(0.0, 1 - free / q) if q > 0 else 0.0
    return PooledEffect(free + 1, mean, mean - half_width, mean + half_width, p, tau_squared**0.5, heterogeneity)
