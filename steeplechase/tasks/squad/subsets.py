"""Subsets of a file's questions: a subsample, and a held-out part for the choice of a threshold."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.labelled.dev_halves import half_of_groups
from steeplechase.tasks.squad.questions import Question

HELD_OUT_SHARE = 0.1  # of the train file's paragraphs; BERT and ELECTRA choose the threshold on dev itself


def taken(questions: Sequence[Question], count: int | None) -> tuple[Question, ...]:
    """Return all questions, or `count` of them chosen by a hash of their identifiers, in the file's order."""
    if count is None or count >= len(questions):
        return tuple(questions)
    chosen = sorted(questions, key=lambda question: _hash(question.identifier))[:count]
    names = {question.identifier for question in chosen}
    return tuple(question for question in questions if question.identifier in names)


def held_out(questions: Sequence[Question]) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """Return (training, held out): a tenth of the paragraphs, by a hash of their text, with all their questions.

    All copies of a duplicate paragraph are in one part.
    """
    held_out_contexts = {
        context
        for context in {question.context for question in questions}
        if int.from_bytes(_hash(context)[:8]) < HELD_OUT_SHARE * 2**64
    }
    training = tuple(question for question in questions if question.context not in held_out_contexts)
    return training, tuple(question for question in questions if question.context in held_out_contexts)


def selection_half_of_questions(questions: Sequence[Question]) -> NDArray[np.bool_]:
    """Return a mask of the selection half: the questions on half of the paragraphs. Raises DataError under 2."""
    return half_of_groups([question.context.encode() for question in questions])


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
