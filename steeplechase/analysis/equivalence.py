"""Equivalence by two one-sided tests (TOST): a difference is shown to lie within a margin that was set beforehand.

Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics 15, 657. Both hypotheses, "at most -margin" and "at least
margin", are tested at alpha, so the larger p decides; it is at most alpha if and only if the interval at 1 - 2 alpha,
90% for 5%, lies inside the margin. No correction is due between the two: at most one of them is true.
"""

import numpy as np
from numpy.typing import ArrayLike

from steeplechase.analysis.distributions import Values
from steeplechase.analysis.estimates import Estimates


def equivalence_p(estimates: Estimates, margin: ArrayLike) -> Values:
    """Return the p of "the true value is not within plus and minus the margin"."""
    return np.asarray(np.maximum(estimates.p_above(np.negative(margin)), estimates.p_below(margin)))
