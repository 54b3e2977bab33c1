"""Welch's t: contrasts of independent arm means with unequal variances, degrees of freedom after Satterthwaite.

Welch 1947, Biometrika 34, 28; Satterthwaite 1946, Biometrics Bulletin 2, 110. A contrast is any weighted sum of arm
means: an arm against the baseline (Welch's two-sample t), or a main effect of a factorial over all of its arms, whose
degrees of freedom add up. Seeds that arms share make it conservative where they correlate the arms positively.
"""

import numpy as np
from jaxtyping import Float

from steeplechase.analysis.estimates import Estimates, Moments


def contrasts(arms: Moments, weights: Float[np.ndarray, "contrasts arms"]) -> Estimates:
    """Return every contrast of the arms along the last axis; NaN where an arm with a weight has too few seeds."""
    used = weights != 0

    def over_arms(values: Float[np.ndarray, "*tables arms"]) -> Float[np.ndarray, "*tables contrasts arms"]:
        return np.asarray(np.where(used, values[..., None, :], 0.0))

    n = np.where(used, arms.n[..., None, :], 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = weights**2 * over_arms(arms.variance) / n
        total = terms.sum(axis=-1)
        shares = terms / total[..., None]  # squares of the terms themselves may be too small for a float
        degrees = 1 / (shares**2 / (n - 1)).sum(axis=-1)
    return Estimates((weights * over_arms(arms.mean)).sum(axis=-1), np.sqrt(total), degrees)


def against_first(arms: Moments) -> Estimates:
    """Return every other arm along the last axis minus the first one."""
    identity = np.eye(arms.mean.shape[-1])
    return contrasts(arms, identity[1:] - identity[0])
