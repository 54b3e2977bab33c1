"""Two training curves compared at equal progress since an event of each, as the exit from a plateau.

Progress is any measure that grows with tokens: tokens themselves, or the integral of the learning rate. Both curves
are read where the one that has made less progress since its event ends, so that neither is extrapolated.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Knots = Float[np.ndarray, "knots"]


@dataclass(frozen=True)
class Progress:
    """Progress as a function of tokens, by its values at some tokens; both rise and are linear between them."""

    tokens: Knots
    values: Knots

    def at(self, tokens: float) -> float:
        """Return the progress after `tokens`."""
        return float(np.interp(tokens, self.tokens, self.values))

    def tokens_at(self, value: float) -> float:
        """Return the first tokens at which the progress is `value`."""
        return float(np.interp(value, self.values, self.tokens))


def by_tokens(end: float) -> Progress:
    """Return progress in tokens up to the end of a curve."""
    return Progress(np.array([0.0, end]), np.array([0.0, end]))


@dataclass(frozen=True)
class Run:
    """One curve from an event on."""

    curve: Mapping[int, float]
    """Loss by tokens."""
    event: float
    """Tokens."""
    progress: Progress

    @property
    def since(self) -> float:
        """Progress from the event to the curve's last point."""
        return self.progress.at(max(self.curve)) - self.progress.at(self.event)

    def read(self, progress: float) -> float | None:
        """Return the loss after some progress since the event, linear in the logarithm of tokens between points.

        None before the curve's first point.
        """
        tokens = self.progress.tokens_at(self.progress.at(self.event) + progress)
        points = sorted(self.curve)
        if tokens < points[0] * (1 - 1e-9):
            return None
        return float(np.interp(np.log(tokens), np.log(points), [self.curve[at] for at in points]))


def aligned(run: Run, other: Run) -> tuple[float, float] | None:
    """Return both losses at equal progress since the events; None where they share no part of their curves."""
    shared = min(run.since, other.since)
    if shared <= 0:
        return None
    losses = run.read(shared), other.read(shared)
    return None if losses[0] is None or losses[1] is None else (losses[0], losses[1])
