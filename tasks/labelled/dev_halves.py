"""Two halves of a dev set: settings are chosen on one and reported on the other. The split never sees an answer.

Each half holds whole groups of equal examples (of SQuAD: all questions on one paragraph), so that nothing stands in
both, and their order is that of a hash of the group: the same halves for every arm and seed. Classes are not
balanced: balancing would read answers.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foundation.errors import DataError
from tasks.labelled.encoding import EncodedExamples

SALT = b"choice half:"


def choice_half(examples: EncodedExamples) -> NDArray[np.bool_]:
    """Return which examples settings are chosen by: those of n // 2 of n groups. Raises DataError where n < 2."""
    return half_of_groups([_row(examples, number) for number in range(len(examples))])


def half_of_groups(groups: Sequence[bytes]) -> NDArray[np.bool_]:
    """Return which examples belong to the first half of the groups. Raises DataError under two groups."""
    hashes = [hashlib.sha256(SALT + group).digest() for group in groups]
    ordered = sorted(set(hashes))
    if len(ordered) < 2:
        raise DataError(f"{len(ordered)} different dev examples cannot be halved; a search of settings needs 2")
    chosen = set(ordered[: len(ordered) // 2])
    return np.asarray([each in chosen for each in hashes])


def _row(examples: EncodedExamples, number: int) -> bytes:
    length = int(examples.lengths[number])
    row = np.stack([examples.tokens[number, :length], examples.segments[number, :length]])
    return row.astype("<i4").tobytes()
