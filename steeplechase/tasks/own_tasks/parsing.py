"""Turns the rows of a user's table into examples; every wrong value is a mistake with file, line, column and rule."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from steeplechase.foundation.errors import did_you_mean
from steeplechase.tasks.labelled.example_files import is_ambiguous
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.own_tasks.columns import Column, TableLayout, named
from steeplechase.tasks.own_tasks.rows import TableRow, format_of, table_rows

SHOWN_CHARACTERS = 40
NO_NUMBERS = ("", "nan", "na", "n/a", "none", "null")
"""What tables write in lower case where a number is missing."""
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+")
EXACT_INTEGERS = 2**53  # as doubles


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """One row before its labels have indices."""

    line: int
    example: Example
    labels: tuple[str, ...] = ()
    """One label, or one tag per word; empty for other targets."""
    answers: tuple[tuple[str, int], ...] = ()
    """With `squad` the text and the start of every answer, as they are in the file."""


@dataclass(frozen=True)
class ParsedFile:
    """The rows of a file without mistakes in them, and its mistakes."""

    rows: tuple[ParsedRow, ...]
    mistakes: Mistakes
    labels: frozenset[str]
    """Every label or tag of the file, of rows with other mistakes too."""
    unlabelled: int = 0
    """Number of rows without a label, which are left out."""
    quoted: int = 0
    """Number of cells in quotation marks that are read as text."""


def parse_file(layout: TableLayout, path: Path, name: str) -> ParsedFile:
    """Return the rows of a file; raises DataError if it cannot be read as a table with these columns."""
    mistakes = Mistakes(name)
    parser = _Parser(layout, mistakes)
    plain = format_of(path.name) == ".tsv" and not layout.quotes
    rows, quoted, count = [], 0, 0
    for count, row in enumerate(table_rows(path, name, layout, mistakes), start=1):
        quoted += sum(_is_quoted(cell) for cell in row.values.values()) if plain else 0
        if (parsed := parser.row(count - 1, row)) is not None:
            rows.append(parsed)
    if not rows and not mistakes.count:
        mistakes.add(1, "the file has no rows" + (f" with a label: {count} are unlabelled" if count else ""))
    return ParsedFile(tuple(rows), mistakes, frozenset(parser.labels), parser.unlabelled, quoted)


def _is_quoted(cell: object) -> bool:
    return isinstance(cell, str) and len(cell) > 1 and cell.startswith('"') and cell.endswith('"')


class _Parser:
    """Parses rows of one file; identifiers are unique in it."""

    def __init__(self, layout: TableLayout, mistakes: Mistakes) -> None:
        self._layout, self._columns, self._mistakes = layout, layout.columns, mistakes
        self._line_of: dict[str, int] = {}
        self._are_names = not any(label.isdecimal() for label in layout.labels)
        self.labels: set[str] = set()
        self.unlabelled = 0

    def row(self, number: int, row: TableRow) -> ParsedRow | None:
        """Return the parsed row, None if it has a mistake or no label."""
        before = self._mistakes.count
        identifier = self._identifier(number, row)
        if self._is_unlabelled(row):
            self.unlabelled += 1
            return None
        parsed = self._tagged(identifier, row) if self._columns.tags is not None else self._parsed(identifier, row)
        self.labels.update(filter(None, parsed.labels))
        return parsed if self._mistakes.count == before else None

    def _is_unlabelled(self, row: TableRow) -> bool:
        column = self._columns.label if self._columns.label is not None else self._columns.value
        if column is None or not self._layout.unlabelled:
            return False
        value = row.values[column]
        texts = ("", "nan") if value is None else (str(value).strip(),)
        if isinstance(value, float) and value.is_integer():
            texts = (*texts, str(int(value)))
        return any(text in self._layout.unlabelled for text in texts)

    def _parsed(self, identifier: str, row: TableRow) -> ParsedRow:
        columns = self._columns
        first = self._text(row, columns.text)
        second = None if columns.pair is None else self._text(row, columns.pair)
        example = Example(first, second, source=self._mistakes.name, row=identifier)
        if columns.target is not None:
            target = self._text(row, columns.target)
            return ParsedRow(row.line, replace(example, first=first.strip(), second=target.strip()))
        if columns.options:
            endings = tuple(self._text(row, option) for option in columns.options)
            label = self._option(row, endings)
            endings = endings if second is None else tuple(f"{second} {ending}" for ending in endings)
            return ParsedRow(row.line, replace(example, second=None, endings=endings), (label,))
        if columns.value is not None:
            return ParsedRow(row.line, replace(example, value=self._number(row, columns.value)))
        if columns.answer is not None:
            return self._answered(row, example)
        assert columns.label is not None
        return ParsedRow(row.line, example, (self._named(self._label(row, columns.label)),))

    def _answered(self, row: TableRow, example: Example) -> ParsedRow:
        if self._layout.squad is not None:
            return ParsedRow(row.line, example, answers=self._answers(row))
        return ParsedRow(row.line, replace(example, answer=self._span(row, str(example.second))))

    def _named(self, label: str) -> str:
        """Return the label that a whole number is the index of, where labels are declared; else what is written."""
        labels = self._layout.labels
        known = label.isdecimal() and self._are_names and label not in labels and int(label) < len(labels)
        return labels[int(label)] if known else label

    def _answers(self, row: TableRow) -> tuple[tuple[str, int], ...]:
        """Return the texts and starts of the answers; none where SQuAD 2.0 has a question without an answer."""
        answer, start = self._columns.answer, self._columns.answer_start
        assert answer is not None
        assert start is not None
        texts, starts = (_listed(row.values[column]) for column in (answer, start))
        if len(texts) != len(starts):
            self._wrong(row, start, f"{len(starts)} starts of {len(texts)} answers")
        elif not texts and self._layout.squad == "v1.1":
            self._wrong(row, answer, "no answer; questions without one need squad: v2.0")
        rows = [TableRow(row.line, {answer: text, start: at}) for text, at in zip(texts, starts, strict=False)]
        return tuple((self._text(each, answer), self._whole(each, start)) for each in rows)

    def _whole(self, row: TableRow, column: Column) -> int:
        number = self._number(row, column)
        if math.isfinite(number) and (number != int(number) or abs(number) > EXACT_INTEGERS):
            self._wrong(row, column, f"{number:g}, expected a whole number")
        return int(number) if math.isfinite(number) else 0

    def _identifier(self, number: int, row: TableRow) -> str:
        if self._columns.id is None:
            return str(number)
        identifier = self._label(row, self._columns.id)
        if identifier in self._line_of:
            self._wrong(row, self._columns.id, f"duplicate {identifier!r}, first in line {self._line_of[identifier]}")
        self._line_of.setdefault(identifier, row.line)
        return identifier

    def _text(self, row: TableRow, column: Column) -> str:
        value = row.values[column]
        if not isinstance(value, str):
            self._wrong(row, column, f"{_shown(value)}, expected a text")
            return ""
        if not value.strip():
            self._wrong(row, column, "empty, expected a text")
        return value

    def _label(self, row: TableRow, column: Column) -> str:
        """Return a label as text: a text, a whole number, or true or false."""
        value = row.values[column]
        if isinstance(value, bool):
            return str(value).lower()
        if value is not None and not isinstance(value, str | int):
            rest = "; write whole numbers without .0, and name numbers to be predicted by columns.value"
            rest = rest if isinstance(value, float | Decimal) else ""
            rest = self._left_out(column, "nan") if value != value else rest  # noqa: PLR0124 — NaN, a missing label
            self._wrong(row, column, f"{_shown(value)}, expected a text or a whole number{rest}")
            return ""
        text = "" if value is None else str(value).strip()
        if not text:
            self._wrong(row, column, f"{'null' if value is None else 'empty'}{self._left_out(column, '')}")
        return text

    def _left_out(self, column: Column, written: str) -> str:
        """Return how rows with this in the place of a label or value are left out; empty where they cannot be."""
        can = column in (self._columns.label, self._columns.value) and not self._columns.options
        return f"; unlabelled: {json.dumps([written])} leaves such rows out" if can else ""

    def _number(self, row: TableRow, column: Column) -> float:
        value = row.values[column]
        grouped = isinstance(value, str) and "_" in value  # 1_000 is a number in Python alone
        try:
            number = float(value) if isinstance(value, str | int | float | Decimal) and not grouped else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number) or isinstance(value, bool):
            written = "" if value is None else str(value).strip()
            is_none = written.lower() in NO_NUMBERS
            rest = self._left_out(column, written) if is_none else _with_a_point(written)
            self._wrong(row, column, f"{_shown(value)}, expected a finite number{rest}")
        return number

    def _option(self, row: TableRow, endings: Sequence[str]) -> str:
        """Return the index of the right option as text; it is written as an index or as the option's column."""
        column, options = self._columns.label, [each for each in self._columns.options if isinstance(each, str)]
        assert column is not None
        written = self._label(row, column)
        if not written:
            return ""  # a mistake already
        indices = [str(index) for index in range(len(endings))]
        text = str(options.index(written)) if written in options else written
        if text not in indices:
            hint = did_you_mean(written, options)
            self._wrong(row, column, f"{_shown(written)}, expected one of {', '.join((*indices, *options))}.{hint}")
        elif is_ambiguous(int(text), endings):
            self._wrong(row, column, f"the right option, {_shown(endings[int(text)])}, is repeated in another column")
        return text

    def _span(self, row: TableRow, context: str) -> tuple[int, int]:
        answer_column, start_column = self._columns.answer, self._columns.answer_start
        assert answer_column is not None
        assert start_column is not None
        if isinstance(row.values[answer_column], list):
            self._wrong(row, answer_column, "a list; several answers of a question need squad: v1.1 or v2.0")
            return 0, 0
        answer, start = self._text(row, answer_column), self._number(row, start_column)
        if not answer or not math.isfinite(start):
            return 0, 0  # both are mistakes already
        if start != int(start) or abs(start) > EXACT_INTEGERS:
            self._wrong(row, start_column, f"{start:g}, expected a whole number")
            return 0, 0
        span = int(start), int(start) + len(answer)
        found = context.find(answer)
        hint = f" It is at {found}." if found >= 0 else ""
        if not 0 <= span[0] < span[1] <= len(context):
            message = f"characters {span[0]} to {span[1]} are outside the {len(context)} characters of"
            self._wrong(row, start_column, f"{message} {self._columns.pair}{hint and '.'}{hint}")
        elif context[slice(*span)] != answer:
            message = f"{self._columns.pair} has {_shown(context[slice(*span)])} at {span[0]}"
            self._wrong(row, start_column, f"{message}, expected {_shown(answer)}.{hint}")
        return span

    def _tagged(self, identifier: str, row: TableRow) -> ParsedRow:
        columns = self._columns
        assert columns.tags is not None
        words, tags = self._words(row, columns.text), self._tags(row, columns.tags)
        if words and tags and len(words) != len(tags):
            self._wrong(row, columns.tags, f"{len(tags)} tags for {len(words)} words")
        return ParsedRow(row.line, Example(" ".join(words), source=self._mistakes.name, row=identifier), tuple(tags))

    def _tags(self, row: TableRow, column: Column) -> list[str]:
        """Return the tags; whole numbers are indices of the labels that are declared."""
        value = row.values[column]
        if isinstance(value, list) and all(type(tag) is int for tag in value):
            value = [str(tag) for tag in value]
        words = self._words(TableRow(row.line, {column: value}), column)
        return [self._named(tag) for tag in words]

    def _words(self, row: TableRow, column: Column) -> list[str]:
        value = row.values[column]
        words = value.split() if isinstance(value, str) else value
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self._wrong(row, column, f"{_shown(value)}, expected words, as a list or separated by spaces")
            return []
        if not words or not all(words):
            self._wrong(row, column, "empty, expected words")
        if any(len(word.split()) != 1 for word in words if word):
            self._wrong(row, column, "a word contains a space")
        return words

    def _wrong(self, row: TableRow, column: Column, message: str) -> None:
        self._mistakes.add(row.line, f"{named(column)}: {message}")


def _with_a_point(written: str) -> str:
    """Return the remedy of a number with a comma before its decimals; empty for other texts."""
    return "; decimals are written with a point" if DECIMAL_COMMA.fullmatch(written) else ""


def _listed(value: object) -> list[object]:
    """Return answers as a list; a text or a number alone is one, nothing is none."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def _shown(value: object) -> str:
    text = "bytes" if isinstance(value, bytes) else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
