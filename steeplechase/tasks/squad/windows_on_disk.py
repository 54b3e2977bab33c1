"""Storage of SQuAD questions with their windows, between preparation and prediction."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import damage_refused
from steeplechase.tasks.labelled.encoding import load_array, load_examples, save_examples
from steeplechase.tasks.squad.questions import Answer, Question
from steeplechase.tasks.squad.spans import combined, window_spans
from steeplechase.tasks.squad.windows import Windows

QUESTIONS_FILE = "questions.json"
_ARRAYS = ("most_context", "questions")


@dataclass(frozen=True)
class Answers:
    """By question identifier: the best text, and the score of "no answer" minus its score."""

    texts: dict[str, str]
    null_odds: dict[str, float]


def save_questions(questions: Sequence[Question], windows: Windows, folder: Path) -> None:
    """Write questions and their windows into an existing folder."""
    save_examples(windows, folder)
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(windows, name).astype("<i4"), allow_pickle=False)
    contexts = {context: index for index, context in enumerate(dict.fromkeys(each.context for each in questions))}
    records = [
        {
            "id": each.identifier,
            "question": each.text,
            "context": contexts[each.context],
            "answers": [[answer.text, answer.start] for answer in each.answers],
            "article": each.article,
            "paragraph": each.paragraph,
        }
        for each in questions
    ]
    document = {"contexts": [*contexts], "questions": records}
    (folder / QUESTIONS_FILE).write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def load_question_windows(folder: Path) -> tuple[tuple[Question, ...], Windows]:
    """Return what was saved, arrays memory-mapped; raises CorruptionError if a file is damaged or missing."""
    rows = load_examples(folder)
    arrays = {name: load_array(folder / f"{name}.npy") for name in _ARRAYS}
    return load_questions(folder), Windows(**vars(rows), **arrays)


def load_questions(folder: Path) -> tuple[Question, ...]:
    """Return the questions alone; raises CorruptionError if their file is damaged or missing."""
    with damage_refused(f"{folder.name}/{QUESTIONS_FILE}"):
        document = json.loads((folder / QUESTIONS_FILE).read_text(encoding="utf-8"))
        contexts = document["contexts"]
        return tuple(
            Question(
                identifier=each["id"],
                text=each["question"],
                context=contexts[each["context"]],
                answers=tuple(Answer(text, start) for text, start in each["answers"]),
                article=each["article"],
                paragraph=each["paragraph"],
            )
            for each in document["questions"]
        )


def answers_of(questions: Sequence[Question], windows: Windows, logits: Iterable[NDArray[np.float32]]) -> Answers:
    """Return one text for each question from the boundary logits [seq 2] of every window, in order.

    Raises ValueError for logits that are not finite.
    """
    answers = Answers({}, {})
    rows = enumerate(zip(windows.questions, logits, strict=True))
    for index, own in groupby(rows, key=lambda row: int(row[1][0])):
        spans, nulls = [], []
        for row, (_, boundaries) in own:
            length = len(boundaries)
            offsets, best = windows.offsets[row, :length], windows.most_context[row, :length]
            spans.append(window_spans(boundaries, offsets, best))
            nulls.append(float(boundaries[0].sum()))
        question, best_spans = questions[index], combined(spans, nulls)
        answers.texts[question.identifier] = best_spans.text(question.context)
        answers.null_odds[question.identifier] = best_spans.null_odds
    return answers
