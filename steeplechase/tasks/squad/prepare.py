"""Writes SQuAD's windows to disk: train, threshold (2.0) and dev; parts may be subsampled.

Which questions are in a part depends on hashes of their identifiers and paragraphs alone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.labelled.dev_halves import half_of_groups
from steeplechase.tasks.labelled.encoding import save_examples
from steeplechase.tasks.progress import Progress
from steeplechase.tasks.squad.files import Part, is_official_name
from steeplechase.tasks.squad.questions import Question, SquadFile
from steeplechase.tasks.squad.windows import Windows, encode_windows, save_questions
from steeplechase.tasks.tokenizer import Tokenizer

TRAIN, THRESHOLD, DEV = "train", "threshold", "dev"
"""Parts: training; choice of the "no answer" threshold (2.0 only); evaluation."""
HELD_OUT_SHARE = 0.1  # of the train file's paragraphs; BERT and ELECTRA choose the threshold on dev itself


@dataclass(frozen=True)
class Amounts:
    """Maximum numbers of questions (None for all), and tokens per window."""

    train: int | None
    dev: int | None
    window_tokens: int


def prepare(
    train: SquadFile, dev: SquadFile, tokenizer: Tokenizer, amounts: Amounts, folder: Path, progress: Progress
) -> dict[str, JsonValue]:
    """Write the windows of every part into `folder` and return its figures by part.

    Parts are subsampled by a hash of the questions' identifiers; the figures then include the total. Raises
    DataError if a part has no question.
    """
    has_unanswerable = train.version == "v2.0"
    training, threshold = held_out(train.questions) if has_unanswerable else (train.questions, ())
    parts = {TRAIN: (training, amounts.train, train), DEV: (dev.questions, amounts.dev, dev)}
    if has_unanswerable:
        parts[THRESHOLD] = (threshold, amounts.dev, train)
    figures: dict[str, JsonValue] = {}
    for number, (part, (questions, limit, file)) in enumerate(parts.items()):
        progress(f"windows of SQuAD {file.version}: {part}", 0.1 + 0.3 * number)
        chosen = taken(questions, limit)
        if not chosen:
            raise DataError(f"{file.name}: has no question for the part {part!r}; expected more paragraphs")
        windows = encode_windows(chosen, tokenizer, amounts.window_tokens)
        (folder / part).mkdir(exist_ok=True)
        if part == TRAIN:  # offsets are for predictions alone
            save_examples(replace(windows, offsets=windows.offsets[:, :0]), folder / part)
        else:
            save_questions(chosen, windows, folder / part)
        figures[part] = _figures(chosen, len(questions), windows, file)
    return figures


def _figures(questions: Sequence[Question], of: int, windows: Windows, file: SquadFile) -> dict[str, JsonValue]:
    part: Part = "train" if file.name.startswith("train") else "dev"
    return {
        "examples": len(questions),
        "of": of,
        "windows": len(windows),
        "unanswerable": sum(not question.answerable for question in questions),
        "questions_cut": windows.truncated,
        "answers_lost": windows.answers_lost,
        "answers_moved_in_file": file.answers_moved,
        "answers_misplaced_in_file": file.answers_lost,
        "file": file.name,
        "official_name": is_official_name(Path(file.name), file.version, part),
        "notes": [*file.notes],
    }


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
