"""Where a curve of losses first reaches a level, between two evaluations: linear in the logarithm of the tokens."""

from collections.abc import Mapping
from math import exp, log
from typing import NamedTuple


class Crossing(NamedTuple):
    """The first time that a loss is at most a level."""

    tokens: float
    """Interpolated between the evaluations around it."""
    after: int
    """Tokens of the last evaluation before, whose loss is above the level."""
    until: int
    """Tokens of the first evaluation at or below the level."""


class Censored(NamedTuple):
    """A curve whose crossing lies outside its evaluations."""

    before: int | None
    """Tokens of the first evaluation if it is at or below the level already; None where no evaluation is."""


def crossing(curve: Mapping[int, float], level: float) -> Crossing | Censored:
    """Return where a curve, loss by tokens, first reaches a level; losses are finite, tokens above 0."""
    points = sorted(curve.items())
    place = next((place for place, (_, loss) in enumerate(points) if loss <= level), None)
    if not place:
        return Censored(None if place is None else points[0][0])
    (after, above), (until, below) = points[place - 1], points[place]
    share = (above - level) / (above - below)
    return Crossing(exp(log(after) + share * (log(until) - log(after))), after, until)
