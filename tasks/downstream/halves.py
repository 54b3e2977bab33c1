"""Two halves of a dev set: settings are chosen on one and reported on the other. The split never sees an answer.

Each half holds whole groups of equal examples, so that nothing stands in both, and their order is that of a hash of
the example's tokens: the same halves for every arm and seed. Classes are not balanced: balancing would read answers.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from search_space.refusals import DataRefused
from tasks.downstream.encoding import EncodedExamples

SALT = b"choice half:"


def choice_half(examples: EncodedExamples) -> NDArray[np.bool_]:
    """Return which examples settings are chosen by: n // 2 of n different ones. Raises DataRefused where n < 2."""
    hashes = [_hash(examples, number) for number in range(len(examples))]
    ordered = sorted(set(hashes))
    if len(ordered) < 2:
        raise DataRefused(f"{len(ordered)} different dev examples cannot be halved; a search of settings needs 2")
    chosen = set(ordered[: len(ordered) // 2])
    return np.asarray([each in chosen for each in hashes])


def _hash(examples: EncodedExamples, number: int) -> bytes:
    length = int(examples.lengths[number])
    row = np.stack([examples.tokens[number, :length], examples.segments[number, :length]])
    return hashlib.sha256(SALT + row.astype("<i4").tobytes()).digest()
