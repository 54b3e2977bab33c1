"""The held-out evaluation set of pretraining: built once per experiment, shared by all arms, stored as arrays."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROWS_AT_A_TIME = 64


@dataclass(frozen=True)
class EvaluationSet:
    """Inputs [sequences seq], the predicted positions and their targets, both [sequences predictions].

    Masked language modelling: a target is the original token at a masked position. Replaced token detection:
    every position is predicted, and its target is 1 if the reference generator replaced the token.
    """

    inputs: NDArray[np.int64]
    positions: NDArray[np.int64]
    targets: NDArray[np.int64]

    def save(self, folder: Path) -> None:
        """Write one array file per field."""
        for field in fields(self):
            np.save(folder / f"{field.name}.npy", getattr(self, field.name), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> "EvaluationSet":
        """Read what `save` wrote."""
        return cls(*(np.load(folder / f"{field.name}.npy", allow_pickle=False) for field in fields(cls)))

    def batches(self) -> Iterator[tuple[slice, "EvaluationSet"]]:
        """Yield the set in batches of a fixed size with their rows, so that results do not depend on the memory."""
        for first in range(0, len(self.inputs), ROWS_AT_A_TIME):
            rows = slice(first, first + ROWS_AT_A_TIME)
            yield rows, EvaluationSet(*(getattr(self, field.name)[rows] for field in fields(self)))
