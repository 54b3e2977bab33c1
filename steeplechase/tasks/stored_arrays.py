"""Reads arrays that a stage wrote: of the declared type and axes, or a damage of the stage's files."""

from pathlib import Path
from typing import Any

import numpy as np

from steeplechase.foundation.errors import CorruptionError, damage_refused


def read_array(path: Path, types: tuple[str, ...], axes: int, *, mapped: bool = False) -> Any:
    """Return an array of one of the types with so many axes, memory-mapped and read-only where that is asked for.

    Raises CorruptionError if it is not such a file.
    """
    with damage_refused(path.name):
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    if array.ndim != axes or array.dtype.str not in types:
        expected = f"{' or '.join(types)} with {axes} {'axis' if axes == 1 else 'axes'}"
        raise CorruptionError(f"{path.name}: an array {array.shape} of {array.dtype}, expected {expected}")
    return array
