"""SQuAD's questions, from its official files or from rows of `datasets`. arXiv 1606.05250 (1.1) and 1806.03822 (2.0).

A file has data, paragraphs and qas; a row has id, title, context, question and answers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.splits import LoadedSplit
from steeplechase.tasks.squad.files import Fields, first_errors, is_valid_unicode, read_json

Kind = TypeVar("Kind")
NEARBY_CHARACTERS = 32  # search radius for an answer that is not at the position in the file
MOST_NOTES = 5
LONGEST_SHOWN = 40  # characters of a text in a message
_JSON_NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", Fields: "an object"}
COLUMNS = ("id", "title", "context", "question", "answers")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as annotated; `start` counts characters of the context, None if the text does not occur there."""

    text: str
    start: int | None


@dataclass(frozen=True, slots=True)
class Question:
    """One question on one paragraph; without answers if SQuAD 2.0 marks it as unanswerable."""

    identifier: str
    text: str
    context: str
    answers: tuple[Answer, ...]
    article: str  # its title, else its number
    paragraph: int  # over the whole file; questions of one paragraph share the same text object

    @property
    def answerable(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers)


@dataclass(frozen=True)
class SquadFile:
    """All questions of one file, in order, and the irregular answers."""

    name: str
    version: Version
    questions: tuple[Question, ...]
    answers_moved: int
    """Number of answers found within 32 characters of their position in the file, and moved there."""
    answers_lost: int
    """Number of answers not found near their position; used for scoring, not for training."""
    notes: tuple[str, ...]
    """Locations of up to five irregular answers."""


def read_squad(path: Path, version: Version) -> SquadFile:
    """Return every question of an official file.

    Raises DataError, all mistakes at once with their JSON paths: missing values, wrong types, duplicate fields and
    identifiers, and contents of the other version.
    """
    return _read_document(read_json(path), path.name, version)


def _read_document(value: Any, name: str, version: Version) -> SquadFile:
    """Return every question of a parsed official file, its objects as `Fields`; raises as `read_squad` does."""
    reading = _Reading(name, version)
    reading.document(value)
    if reading.mistakes:
        raise DataError(first_errors(reading.mistakes))
    if not reading.questions:
        raise DataError(f"{name}: holds no question; expected data[].paragraphs[].qas[]")
    return SquadFile(
        name,
        version,
        tuple(reading.questions),
        reading.moved,
        reading.lost,
        tuple(reading.notes[:MOST_NOTES]),
    )


@dataclass
class _Reading:
    """Parses one file: collects questions and errors; positions are JSON paths."""

    name: str
    version: Version
    mistakes: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    moved: int = 0
    lost: int = 0
    _paths: dict[str, str] = field(default_factory=dict)
    _paragraphs: int = 0

    def document(self, value: Any) -> None:
        if not isinstance(value, Fields):
            self._mistake("the file", f"is {_kind(value)}; expected an object with a list under 'data'")
            return
        self._no_repetition(value, "the file")
        for path, article in self._items(value, "data", ""):
            title = article.get("title")
            name = title if isinstance(title, str) and is_valid_unicode(title) else path
            for item_path, paragraph in self._items(article, "paragraphs", f"{path}."):
                self._paragraph(paragraph, item_path, name)

    def _paragraph(self, paragraph: Fields, path: str, article: str) -> None:
        context = self._text(paragraph, "context", path)
        if context is not None and not context.strip():
            self._mistake(path, "an empty context; expected the text that the questions are about")
        number, self._paragraphs = self._paragraphs, self._paragraphs + 1
        for item_path, item in self._items(paragraph, "qas", f"{path}."):
            identifier, text = self._identifier(item, item_path), self._text(item, "question", item_path)
            name = item_path if identifier is None else f"{item_path} (question {identifier})"
            answers = self._answers(item, name, context or "")
            self._version(item, name, len(answers))
            if identifier is not None and text is not None and context is not None:
                self.questions.append(Question(identifier, text, context, answers, article, number))

    def _identifier(self, item: Fields, path: str) -> str | None:
        identifier = self._text(item, "id", path)
        if identifier == "":
            self._mistake(path, "an empty id")
        elif identifier is not None and identifier in self._paths:
            self._mistake(path, f"duplicate id {identifier!r}, first in {self._paths[identifier]}")
        elif identifier is not None:
            self._paths[identifier] = path
        return identifier

    def _answers(self, item: Fields, path: str, context: str) -> tuple[Answer, ...]:
        answers = []
        for number, (item_path, answer) in enumerate(self._items(item, "answers", f"{path}.")):
            text, start = self._text(answer, "text", item_path), self._value(answer, "answer_start", int, item_path)
            if text == "":
                self._mistake(item_path, "an answer without text")
            if text and start is not None:
                answers.append(Answer(text, self._start_of(text, start, context, f"{path} answer {number}")))
        return tuple(answers)

    def _start_of(self, text: str, start: int, context: str, path: str) -> int | None:
        """Return the position of an answer: as in the file, else nearby, else None; irregular ones are counted."""
        if start >= 0 and context.startswith(text, start):
            return start
        near = _nearest(text, start, context)
        self.moved += near is not None
        self.lost += near is None
        if len(self.notes) < MOST_NOTES:
            instead = "nor near it" if near is None else f"but at {near}"
            self.notes.append(f"{self.name}: {path}: {_short(text)} does not stand at {start}, {instead}")
        return near

    def _version(self, item: Fields, path: str, answers: int) -> None:
        impossible = item.get("is_impossible")
        if self.version == "v1.1":
            if impossible is True:
                self._mistake(path, "is_impossible is true; SQuAD 1.1 has no such questions, squad_v2_0 has")
            elif not answers and not item.get("answers"):
                self._mistake(path, "no answers; every question of SQuAD 1.1 has one")
        elif not isinstance(impossible, bool):
            actual = "is missing" if "is_impossible" not in item else f"is {_kind(impossible)}"
            self._mistake(path, f"is_impossible {actual}; SQuAD 2.0 says true or false (is this a file of 1.1?)")
        elif impossible and answers:
            self._mistake(path, f"is_impossible is true, yet there are {answers} answers")
        elif not impossible and not answers and not item.get("answers"):
            self._mistake(path, "is_impossible is false, yet there are no answers")

    def _items(self, holder: Fields, key: str, prefix: str) -> Iterator[tuple[str, Fields]]:
        """Yield (JSON path, object) for the objects of a list, and report other values as errors."""
        items = self._value(holder, key, list, prefix.removesuffix(".") or "the file")
        for index, item in enumerate(items or ()):
            path = f"{prefix}{key}[{index}]"
            if isinstance(item, Fields):
                self._no_repetition(item, path)
                yield path, item
            else:
                self._mistake(path, f"is {_kind(item)}; expected an object")

    def _no_repetition(self, item: Fields, path: str) -> None:
        for key in item.repeated:
            self._mistake(path, f"duplicate field {key!r}")

    def _text(self, holder: Fields, key: str, path: str) -> str | None:
        text = self._value(holder, key, str, path)
        if text is not None and not is_valid_unicode(text):
            self._mistake(path, f"{key} contains a lone surrogate")
            return None
        return text

    def _value(self, holder: Fields, key: str, kind: type[Kind], path: str) -> Kind | None:
        if key not in holder:
            self._mistake(path, f"no {key!r}; expected {_JSON_NAMES[kind]}")
            return None
        value = holder[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            self._mistake(path, f"{key} is {_kind(value)}; expected {_JSON_NAMES[kind]}")
            return None
        return value

    def _mistake(self, path: str, what: str) -> None:
        self.mistakes.append(f"{self.name}: {path}: {what}")


def _nearest(text: str, start: int, context: str) -> int | None:
    """Return the occurrence of a text nearest to `start`, at most 32 characters away."""
    first, last = max(0, start - NEARBY_CHARACTERS), start + NEARBY_CHARACTERS
    matches = [
        start_of_match
        for start_of_match in range(first, min(last, len(context)) + 1)
        if context.startswith(text, start_of_match)
    ]
    return min(matches, key=lambda start_of_match: abs(start_of_match - start), default=None)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    for kind in (bool, *_JSON_NAMES):
        if isinstance(value, kind):
            shown = f" ({_short(value)})" if isinstance(value, str) else f" ({value})" if kind is int else ""
            return f"{_JSON_NAMES[kind]}{shown}"
    return f"a number ({value})"


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…")


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
    return _read_document(_fields(data=articles), name, version)


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
