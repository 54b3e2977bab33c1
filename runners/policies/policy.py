"""What a policy of evolution sees and decides: the candidate that trains next, and how far."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

ROUNDING = 1e-9  # sums of shares of a training


@dataclass(frozen=True)
class Action:
    """Train a candidate up to a number of points; a paused candidate is resumed."""

    candidate: int
    points: int


@dataclass(frozen=True)
class Judgement:
    """What a policy's hurdle decided on a candidate, for the ledger."""

    points: int
    """Observed points of the candidate."""
    cleared: bool
    threshold: float | None
    """None while there is no hurdle yet."""
    references: tuple[int, ...]
    """The candidates whose mean is the threshold."""


class Breeder(Protocol):
    """Candidates by number; a genome that gives a candidate of before gives its number."""

    def drawn(self, generator: np.random.Generator) -> int | None:
        """Return a uniformly drawn candidate, None if there is none left to number."""

    def mutant(self, parent: int | None, rate: float, generator: np.random.Generator) -> int | None:
        """Return a child that differs from its parent; None is the declared architecture. None if none was found."""


class View(Protocol):
    """Observations available to a policy, which does not know its budget."""

    @property
    def costs(self) -> Numbers:
        """Cost of training from nothing to each point, in full trainings [points]."""

    @property
    def observed(self) -> Numbers:
        """Observed values [candidates, points]: smaller is better, NaN if not observed, infinite if diverged."""

    @property
    def reached(self) -> NDArray[np.int64]:
        """Number of observed points of each candidate [candidates]."""

    @property
    def in_training(self) -> NDArray[np.bool_]:
        """Whether a candidate is in training, with a result still to come [candidates]."""

    @property
    def breeder(self) -> Breeder:
        """Source of candidates for policies that evolve them."""

    def judge(self, candidate: int, judgement: Judgement) -> None:
        """Note the decision of a hurdle; a candidate that is not cleared is never trained again."""

    def repeat(self, candidate: int) -> None:
        """Note a child that equals a candidate of before, which costs nothing."""
