"""A rate-aware loss law, loss = floor + scale S1^-exponent - gain S2. Tissue et al. 2024, arXiv 2408.11029.

S1 is the sum of the learning rates of all updates so far, S2 the annealing area: the sum over updates of the rate's
falls so far, each fading by a factor per update. Curves share the exponent and the gain; each has its own floor and
scale. At a fixed exponent the law is linear, so that a grid of exponents is fitted exactly.
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

    def between(self, first: int, end: int | None = None) -> "Path":
        """Return the points from `first` to before `end`."""
        return Path(self.sums[first:end], self.areas[first:end], self.losses[first:end])


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
        """Return the exponent and the gain, never negative, of least squares over curves of equal length."""
        powers = np.exp(-EXPONENTS[:, None, None] * np.log(np.array([path.sums for path in paths])))
        powers = powers - powers.mean(axis=-1, keepdims=True)
        squares = (powers**2).sum(axis=-1, keepdims=True)

        def unexplained(values: Sequence[Points]) -> Float[np.ndarray, "exponents curves n"]:
            """Return what is left of each curve's values by its own floor and scale."""
            centred = np.array(values) - np.mean(values, axis=-1, keepdims=True)
            return np.asarray(centred - (powers * centred).sum(axis=-1, keepdims=True) / squares * powers)

        losses, areas = unexplained([path.losses for path in paths]), unexplained([path.areas for path in paths])
        along, area_squares = (losses * areas).sum(axis=(1, 2)), (areas**2).sum(axis=(1, 2))
        gains = np.maximum(0.0, -along / np.maximum(area_squares, 1e-300))
        left = ((losses + gains[:, None, None] * areas) ** 2).sum(axis=(1, 2))
        best = int(left.argmin())
        return cls(float(EXPONENTS[best]), float(gains[best]))

    def end(self, seen: Path, end_sum: float, end_area: float) -> float:
        """Return where a curve ends whose first points have been seen."""
        columns = np.column_stack([np.ones_like(seen.sums), seen.sums**-self.exponent])
        own, *_ = np.linalg.lstsq(columns, seen.losses + self.gain * seen.areas, rcond=None)
        return float(own[0] + own[1] * end_sum**-self.exponent - self.gain * end_area)
