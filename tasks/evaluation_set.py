"""The held-out questions of an experiment: made once, the same for every arm, kept as plain arrays."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROWS_AT_A_TIME = 64


@dataclass(frozen=True)
class EvaluationSet:
    """What is shown, where something is asked, and the right answers.

    Masked language modelling asks at `positions` [sequences predictions] for the token in `answers`. Replaced
    token detection asks everywhere: `answers` [sequences seq] is 1 where the reference generator has put in
    another token, and `positions` is the whole row.
    """

    shown: NDArray[np.int64]
    positions: NDArray[np.int64]
    answers: NDArray[np.int64]

    def save(self, folder: Path) -> None:
        """Write one array file per field."""
        for field in fields(self):
            np.save(folder / f"{field.name}.npy", getattr(self, field.name), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> "EvaluationSet":
        """Read what `save` wrote."""
        return cls(*(np.load(folder / f"{field.name}.npy", allow_pickle=False) for field in fields(cls)))

    def parts(self) -> list["EvaluationSet"]:
        """Return the questions in pieces of a fixed number of rows, so that a result never depends on memory."""
        starts = range(0, len(self.shown), ROWS_AT_A_TIME)
        return [self._rows(start, start + ROWS_AT_A_TIME) for start in starts]

    def _rows(self, first: int, last: int) -> "EvaluationSet":
        return EvaluationSet(*(getattr(self, field.name)[first:last] for field in fields(self)))
