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

from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.paired import holm


@dataclass(frozen=True)
class ClaimTest:
    """The p of both hypotheses on one claim, one-sided, or twice that after the correction; None where unknown."""

    outside: float | None
    """Of "the true value is outside the bounds": small where the claim is supported."""
    inside: float | None
    """Of "the true value is inside the bounds": small where it is contradicted."""


def claim_test(difference: Estimates, low: float, high: float) -> ClaimTest:
    """Return the test of "the difference lies between low and high", from an estimate of one cell."""
    above, below = ([p(bound).item() for bound in (low, high)] for p in (difference.p_above, difference.p_below))
    outside, inside = max(above[0], below[1]), min(sum(above), sum(below))
    # exact for an interval: at one end both ends are errors
    return ClaimTest(None, None) if math.isnan(inside) else ClaimTest(outside, min(1.0, inside))


def corrected(tests: Sequence[ClaimTest]) -> tuple[ClaimTest, ...]:
    """Return the tests of a family, corrected for each other, in their order: p to be compared with alpha."""
    sides = ([each.outside for each in tests], [each.inside for each in tests])
    adjusted = ([None if p is None else min(1.0, 2 * p) for p in holm(side)] for side in sides)
    return tuple(ClaimTest(*both) for both in zip(*adjusted, strict=True))
