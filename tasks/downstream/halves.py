"""Two halves of a dev set: settings are chosen on one and reported on the other. The split never sees an answer.

Each half holds whole groups of equal examples (of SQuAD: all questions on one paragraph), so that nothing stands in
both, and their order is that of a hash of the group: the same halves for every arm and seed. Classes are not
balanced: balancing would read answers.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from search_space.refusals import DataRefused
from tasks.downstream.encoding import EncodedExamples
from tasks.squad.questions import Question

SALT = b"choice half:"


def choice_half(examples: EncodedExamples) -> NDArray[np.bool_]:
    """Return which examples settings are chosen by: those of n // 2 of n groups. Raises DataRefused where n < 2."""
    return _half([_row(examples, number) for number in range(len(examples))])


def choice_half_of_questions(questions: Sequence[Question]) -> NDArray[np.bool_]:
    """Return which questions settings are chosen by: those on half of the paragraphs. Raises DataRefused under 2."""
    return _half([question.context.encode() for question in questions])


def _half(groups: Sequence[bytes]) -> NDArray[np.bool_]:
    hashes = [hashlib.sha256(SALT + group).digest() for group in groups]
    ordered = sorted(set(hashes))
    if len(ordered) < 2:
        raise DataRefused(f"{len(ordered)} different dev examples cannot be halved; a search of settings needs 2")
    chosen = set(ordered[: len(ordered) // 2])
    return np.asarray([each in chosen for each in hashes])


def _row(examples: EncodedExamples, number: int) -> bytes:
    length = int(examples.lengths[number])
    row = np.stack([examples.tokens[number, :length], examples.segments[number, :length]])
    return row.astype("<i4").tobytes()
