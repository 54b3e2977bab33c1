"""SQuAD's questions from rows of `datasets`: id, title, context, question, answers."""

from itertools import groupby
from typing import Any

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.splits import LoadedSplit
from steeplechase.tasks.squad.json_files import Fields
from steeplechase.tasks.squad.questions import SquadFile, read_document

COLUMNS = ("id", "title", "context", "question", "answers")


def read_rows(split: LoadedSplit, version: Version, name: str) -> SquadFile:
    """Return every question of a split, with the rules and checks of the official files.

    Consecutive rows with one context form a paragraph, those with one title an article. Rows of 2.0 have no
    `is_impossible`; it is true for questions without answers. Raises DataError, all mistakes at once.
    """
    missing = [column for column in COLUMNS if column not in split.columns]
    if missing:
        existing = ", ".join(map(repr, split.columns))
        raise DataError(f"{name}: no column {' and no '.join(map(repr, missing))}; found are {existing}")
    rows = [
        dict(zip(COLUMNS, row, strict=True)) for row in zip(*(split.columns[each] for each in COLUMNS), strict=True)
    ]
    articles = []
    for title, of_title in groupby(rows, key=lambda row: row["title"]):
        paragraphs = [
            _fields(context=context, qas=[_question(row, version) for row in of_context])
            for context, of_context in groupby(of_title, key=lambda row: row["context"])
        ]
        articles.append(_fields(title=title, paragraphs=paragraphs))
    return read_document(_fields(data=articles), name, version)


def _question(row: dict[str, Any], version: Version) -> Fields:
    answers = _answers(row["answers"])
    impossible = {} if version == "v1.1" else {"is_impossible": answers == []}
    return _fields(id=row["id"], question=row["question"], answers=answers, **impossible)


def _answers(answers: Any) -> Any:
    """Return the answers one by one; other forms are passed on and rejected by the reader."""
    texts, starts = (answers.get("text"), answers.get("answer_start")) if isinstance(answers, dict) else (None, None)
    if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
        return answers
    return [_fields(text=text, answer_start=start) for text, start in zip(texts, starts, strict=True)]


def _fields(**values: Any) -> Fields:
    return Fields([*values.items()])
