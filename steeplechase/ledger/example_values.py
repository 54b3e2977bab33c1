"""Losses and scores of single examples: an array file beside the result of a stage, whose sha256 the record has.

The file is an npy array [metrics examples] of little-endian float32: losses in nats, scores as shares from 0 to 1. It
is verified by that sha256 alone, so that it can be read where other files of the stage are gone.
"""

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from steeplechase.foundation.atomic_files import read_regular, sha256_of, write_whole
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.stage_results import ExampleValues

Values = Float[np.ndarray, "metrics examples"]


def write_example_values(path: Path, values: Mapping[str, ArrayLike]) -> dict[str, JsonValue]:
    """Write the values of every example by metric, and return what a record keeps of the file: `ExampleValues`."""
    content = array_bytes(np.stack([np.asarray(each, "<f4") for each in values.values()]))
    write_whole(path, content)
    return described(path, tuple(values), np.size(next(iter(values.values()))))


def described(path: Path, metrics: Sequence[str], examples: int) -> dict[str, JsonValue]:
    """Return what a record keeps of a file that has been written."""
    return {"sha256": sha256_of(path), "metrics": [*metrics], "examples": examples}


def read_example_values(path: Path, expected: ExampleValues) -> Values:
    """Return the array of a file. Raises CorruptionError where it is not the file that the record names."""
    fault = "is not what was written"
    try:
        content = read_regular(path)
        if hashlib.sha256(content).hexdigest() == expected.sha256:
            values = np.load(io.BytesIO(content), allow_pickle=False)
            if values.shape == (len(expected.metrics), expected.examples):
                return np.asarray(values)
            fault = f"holds {values.shape}, its record {(len(expected.metrics), expected.examples)}"
    except (OSError, ValueError, EOFError) as error:
        fault = f"cannot be read ({type(error).__name__})"
    raise CorruptionError(f"{path}: {fault}. Move its folder away and run again: the stage will be computed anew")


def array_bytes(values: Values) -> bytes:
    """Return an array as the bytes of an npy file; equal arrays, equal bytes."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()
