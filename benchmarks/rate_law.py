"""A rate-aware loss law, loss = floor + scale S1^-exponent - gain S2. Tissue et al. 2024, arXiv 2408.11029.

S1 is the sum of the learning rates of all updates so far, S2 the annealing area: the sum over updates of the rate's
falls so far, each fading by a factor per update. Exponent and gain are shared by curves; floor and scale are a curve's
own. At a fixed exponent all of it is linear, so a grid of exponents is fitted exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

EXPONENTS = np.geomspace(0.05, 2.5, 40)
FADING = 0.999  # of the annealing's momentum, per update (section 3)

Points = Float[np.ndarray, "n"]


@dataclass(frozen=True)
class Path:
    """One curve: sums of rates, annealing areas, losses."""

    sums: Points
    areas: Points
    losses: Points

    def first(self, points: int) -> "Path":
        """Return the curve's first points."""
        return Path(self.sums[:points], self.areas[:points], self.losses[:points])


def sums_and_areas(rates: Points) -> tuple[Points, Points]:
    """Return S1 and S2 after every update, in units of the peak rate times the number of updates."""
    falls = np.maximum(0.0, -np.diff(rates, prepend=rates[:1]))
    momentum = np.empty(len(rates))
    faded = 0.0
    for update, fall in enumerate(falls.tolist()):
        faded = FADING * faded + fall
        momentum[update] = faded
    unit = rates.max() * len(rates)
    return np.cumsum(rates) / unit, np.cumsum(momentum) * (1 - FADING) / rates.max()


@dataclass(frozen=True)
class RateLaw:
    """The parts of the law that curves share."""

    exponent: float
    gain: float

    @classmethod
    def fit(cls, paths: Sequence[Path]) -> "RateLaw":
        """Return the exponent and the gain, never negative, with the least squares over all curves."""
        return min((cls._at(exponent, paths) for exponent in EXPONENTS.tolist()), key=lambda fit: fit[0])[1]

    @classmethod
    def _at(cls, exponent: float, paths: Sequence[Path]) -> tuple[float, "RateLaw"]:
        losses, areas = [], []
        for path in paths:
            own, _ = np.linalg.qr(_columns(path.sums, exponent))
            losses.append(path.losses - own @ (own.T @ path.losses))
            areas.append(path.areas - own @ (own.T @ path.areas))
        left, area = np.concatenate(losses), np.concatenate(areas)
        squares = float(area @ area)
        gain = max(0.0, -float(area @ left) / squares) if squares > 0 else 0.0
        return float(((left + gain * area) ** 2).sum()), cls(exponent, gain)

    def end(self, seen: Path, end_sum: float, end_area: float) -> float:
        """Return where a curve ends whose first points have been seen."""
        columns = _columns(seen.sums, self.exponent)
        own, *_ = np.linalg.lstsq(columns, seen.losses + self.gain * seen.areas, rcond=None)
        return float(own[0] + own[1] * end_sum**-self.exponent - self.gain * end_area)


def _columns(sums: Points, exponent: float) -> Float[np.ndarray, "n 2"]:
    return np.column_stack([np.ones_like(sums), sums**-exponent])
