"""Splits a dev set into a half for selecting hyperparameters and a half for reporting, without use of labels.

Groups of equal examples (in SQuAD: the questions on one paragraph) are not split, so no example is in both halves.
Groups are ordered by a hash, which gives the same halves for every arm and seed. Classes are not balanced, because
balancing needs labels.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.encoding import EncodedExamples

SALT = b"choice half:"  # part of every hash; another value gives other halves


def selection_half(examples: EncodedExamples) -> NDArray[np.bool_]:
    """Return the mask [example] of the selection half: n // 2 of n groups of equal examples.

    Raises DataError if n < 2.
    """
    return half_of_groups([_content(examples, index) for index in range(len(examples))])


def half_of_groups(groups: Sequence[bytes]) -> NDArray[np.bool_]:
    """Return the mask [example] of the selection half, by the group of each example.

    Raises DataError if there are fewer than two groups.
    """
    hashes = [hashlib.sha256(SALT + group).digest() for group in groups]
    ordered = sorted(set(hashes))
    if len(ordered) < 2:
        raise DataError(f"{len(ordered)} different dev examples cannot be halved; a search of settings needs 2")
    chosen = set(ordered[: len(ordered) // 2])
    return np.asarray([group_hash in chosen for group_hash in hashes])


def _content(examples: EncodedExamples, index: int) -> bytes:
    return b"".join(_sequence(examples, row) for row in examples.sequences_of(np.asarray([index])))


def _sequence(examples: EncodedExamples, row: int) -> bytes:
    length = int(examples.lengths[row])
    content = np.stack([examples.tokens[row, :length], examples.segments[row, :length]])
    return content.astype("<i4").tobytes()
