"""Claims of one study, corrected for each other: the claims in all of its files are one family.

A claim says that a difference lies between two bounds, one of them often infinite. It is supported where "outside the
bounds" is rejected, contradicted where "inside" is. Exactly one of the two hypotheses is true, so a claim can be
judged wrongly in one way only. Holm's correction over the supports and over the contradictions, each at half of
alpha, keeps the probability of any wrong verdict at alpha or below, for any dependence. With one claim on a direction
this is the interval at 1 - alpha inside or outside the bounds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.distributions import Values
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.paired import holm


@dataclass(frozen=True)
class ClaimTest:
    """The one-sided p of both hypotheses on one claim; None where too few seeds say nothing."""

    outside: float | None
    """Of "the true value is outside the bounds": small where the claim is supported."""
    inside: float | None
    """Of "the true value is inside the bounds": small where it is contradicted."""


@dataclass(frozen=True)
class CorrectedClaim:
    """Both p after the correction, twice the one-sided ones, to be compared with alpha."""

    supported_p: float | None
    contradicted_p: float | None

    def supported(self, alpha: float = ALPHA) -> bool:
        """Whether the claim is supported within its family."""
        return self.supported_p is not None and self.supported_p <= alpha

    def contradicted(self, alpha: float = ALPHA) -> bool:
        """Whether the claim is contradicted within its family."""
        return self.contradicted_p is not None and self.contradicted_p <= alpha


def claim_p(differences: Estimates, low: ArrayLike, high: ArrayLike) -> tuple[Values, Values]:
    """Return the one-sided p of "outside the bounds" and of "inside the bounds", elementwise."""
    above, below = ([p(bound) for bound in (low, high)] for p in (differences.p_above, differences.p_below))
    inside = np.minimum(sum(above), sum(below))  # exact for an interval: at one end both ends are errors
    return np.maximum(above[0], below[1]), np.minimum(1.0, inside)


def claim_test(difference: Estimates, low: float, high: float) -> ClaimTest:
    """Return the test of "the difference lies between low and high", from an estimate of one cell."""
    outside, inside = (p.item() for p in claim_p(difference, low, high))
    return ClaimTest(None, None) if math.isnan(outside) else ClaimTest(outside, inside)


def corrected(tests: Sequence[ClaimTest]) -> tuple[CorrectedClaim, ...]:
    """Return the claims of a family, corrected for each other, in their order."""
    supports = holm([each.outside for each in tests])
    contradictions = holm([each.inside for each in tests])
    return tuple(
        CorrectedClaim(_twice(one), _twice(other)) for one, other in zip(supports, contradictions, strict=True)
    )


def _twice(p: float | None) -> float | None:
    return None if p is None else min(1.0, 2 * p)
