"""Selection and reporting half of a dev set. The split does not depend on labels.

Each half contains whole groups of equal examples (of SQuAD: all questions on one paragraph), so the halves are
disjoint. Groups are ordered by a hash: the same halves for every arm and seed. Classes are not balanced, because
balancing would use labels.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foundation.errors import DataError
from tasks.labelled.encoding import EncodedExamples

SALT = b"choice half:"


def choice_half(examples: EncodedExamples) -> NDArray[np.bool_]:
    """Return a mask of the selection half: the examples of n // 2 of n groups. Raises DataError where n < 2."""
    return half_of_groups([_row(examples, number) for number in range(len(examples))])


def half_of_groups(groups: Sequence[bytes]) -> NDArray[np.bool_]:
    """Return a mask of the examples in the first half of the groups. Raises DataError under two groups."""
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
