"""What a search has found by what it has spent: the trainings of one search at one seed, in their order; hypervolume.

Hypervolume of points with two objectives, both minimised: Zitzler and Thiele 1998, PPSN V. With two objectives it is
the area under a staircase. Optuna's own function is the oracle in the tests; it is private there, and its library
takes a second to import.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steeplechase.analysis.shapes import Float


@dataclass(frozen=True)
class Training:
    """One training of a candidate, from nothing or from where it was paused."""

    candidate: str
    spent: float
    """Full trainings that the search has spent when it ends; the last value is the whole cost."""
    loss: float
    """The lowest loss observed in it; infinite if the candidate has diverged, or another seed of it is to come."""
    finished: bool
    """Whether the candidate has had its full training."""
    forward_flops: float
    """Of the candidate, for one sequence."""
    seconds: float | None = None
    """Measured; None where nothing was trained."""


@dataclass(frozen=True)
class SearchTrace:
    """One search at one seed."""

    seed: int
    trainings: tuple[Training, ...]
    chosen_loss: float | None
    """The loss of the chosen candidate after a full training; None if it was never trained to its end."""
    duplicates: int | None
    """Proposals that equal a candidate of before; None if they are not known."""

    @cached_property
    def chosen(self) -> str | None:
        """The candidate with the lowest loss observed; None if every one has diverged."""
        best = min(self.trainings, key=lambda training: training.loss, default=None)
        return None if best is None or not np.isfinite(best.loss) else best.candidate

    @property
    def best(self) -> float:
        """The lowest loss observed."""
        return min((training.loss for training in self.trainings), default=float("inf"))

    @property
    def cost(self) -> float:
        """Full trainings spent."""
        return self.trainings[-1].spent if self.trainings else 0.0

    @property
    def seconds(self) -> float | None:
        """Measured seconds of all trainings, None if some were not measured."""
        return seconds_of(self.trainings)

    @property
    def candidates(self) -> int:
        """Number of candidates that were trained."""
        return len({training.candidate for training in self.trainings})

    @property
    def finished(self) -> int:
        """Number of candidates that had their full training."""
        return len({training.candidate for training in self.trainings if training.finished})

    def choosing(self, finals: Mapping[str, float]) -> "SearchTrace":
        """Return the trace with the loss of the chosen candidate after a full training, from losses by candidate."""
        final = None if self.chosen is None else finals.get(self.chosen)
        return replace(self, chosen_loss=final)

    def best_at(self, costs: Sequence[float]) -> Float[np.ndarray, "costs"]:  # noqa: F821
        """Return the lowest loss observed within each cost; infinite before the first training has ended."""
        spent = [training.spent for training in self.trainings]
        best = np.minimum.accumulate([np.inf, *(training.loss for training in self.trainings)])
        return np.asarray(best[np.searchsorted(spent, np.asarray(costs) + ROUNDING, side="right")])


def seconds_of(trainings: Sequence[Training]) -> float | None:
    """Return the measured seconds of some trainings, None if some were not measured."""
    measured = [training.seconds for training in trainings if training.seconds is not None]
    return sum(measured) if len(measured) == len(trainings) else None


ROUNDING = 1e-9  # of sums of shares of a training


def hypervolume(points: Float[np.ndarray, "points 2"]) -> float:
    """Return the area that the points dominate in the unit square, whose corner (1, 1) is the reference point.

    Points outside the square count as far as they dominate a part of it.
    """
    clipped = np.clip(points, 0.0, 1.0)
    area, lowest = 0.0, 1.0
    for first, second in clipped[np.lexsort((clipped[:, 1], clipped[:, 0]))]:
        if second < lowest:
            area += float((1.0 - first) * (lowest - second))
            lowest = float(second)
    return area
