"""Columns and rows of GLUE's files, and of `nyu-mll/glue` in `datasets`.

Files are tab-separated, without quoting; `NA`, `None` and quotation marks are plain text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import check_signature, text_lines
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.splits import LoadedSplit, Split

LABEL, ROW = "label", "idx"  # in all configurations of the data set


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names of a file by content."""

    first: str
    second: str | None = None
    answer: str | None = None  # None if labels are withheld
    row: str | None = None  # identifier of a row; None: its index from 0
    all: tuple[str, ...] | None = None  # the columns of a file without a header

    @property
    def texts(self) -> list[str]:
        """Return the text columns."""
        return [column for column in (self.first, self.second) if column is not None]

    @property
    def wanted(self) -> list[str]:
        """Return the required columns."""
        return [*self.texts, *(column for column in (self.answer, self.row) if column is not None)]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A task's splits in the data set, and the names of its text columns."""

    splits: Mapping[str, Split]
    first: str
    second: str | None = None

    def columns(self, labelled: bool) -> Columns:
        """Return the columns of a split; rows of an unlabelled test set are identified by their `idx`."""
        return Columns(self.first, self.second, LABEL if labelled else None, None if labelled else ROW)


def configuration(name: str, first: str, second: str | None = None) -> Configuration:
    """Return a configuration with the usual names of splits."""
    splits = {"train": "train", "dev": "validation", "test": "test"}
    return Configuration({part: Split(name, split) for part, split in splits.items()}, first, second)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table by column name."""

    line: int  # from 1
    cells: dict[str, str]


def rows_of(
    path: Path, name: str, columns: Sequence[str] | None, wanted: Sequence[str], mistakes: Mistakes
) -> Iterator[Row]:
    """Yield the rows of a table; `columns` are the names for a file without a header.

    A row with another number of cells than the header is a mistake and is not yielded. Raises DataError, with line
    and byte, for invalid UTF-8, and if `wanted` columns are missing from the header.
    """
    check_signature(path, name, path.suffix)
    lines = text_lines(path, name)
    if columns is None:
        columns = _header(next(lines, (1, ""))[1], name, wanted)
    for number, text in lines:
        cells = text.split("\t")
        if len(cells) != len(columns):
            mistakes.add(number, f"{len(cells)} cells, expected {len(columns)}: {', '.join(columns)}")
        else:
            yield Row(number, dict(zip(columns, cells, strict=True)))


def _header(text: str, name: str, wanted: Sequence[str]) -> tuple[str, ...]:
    columns = tuple(text.split("\t"))
    missing = [column for column in wanted if column not in columns]
    if missing:
        existing = ", ".join(map(repr, columns[:12]))
        raise DataError(
            f"{name}:1: no column {' and no '.join(map(repr, missing))} in the header; found are {existing}"
        )
    return columns


HIDDEN = -1
"""Number of a withheld label on the hub."""


def rows_of_split(split: LoadedSplit, columns: Columns, hidden: str, mistakes: Mistakes) -> Iterator[Row]:
    """Yield the rows of a split by number from 1, labels by their names; `hidden` replaces a withheld label.

    A row whose text is not a string is a mistake and is not yielded.
    """
    wanted = columns.wanted
    for number, values in enumerate(zip(*(split.columns[column] for column in wanted), strict=True), 1):
        row = dict(zip(wanted, values, strict=True))
        wrong = [column for column in columns.texts if not isinstance(row[column], str)]
        if wrong:
            mistakes.add(number, f"{wrong[0]} is {row[wrong[0]]!r:.40}, expected a text")
            continue
        for column, names in split.label_names.items():
            if column in row:
                row[column] = _name(row[column], names, hidden)
        yield Row(number, {column: value if isinstance(value, str) else repr(value) for column, value in row.items()})


def _name(label: Any, names: Sequence[str], hidden: str) -> str:
    return names[label] if isinstance(label, int) and 0 <= label < len(names) else hidden


def check_columns(split: LoadedSplit, name: str, wanted: Sequence[str]) -> None:
    """Raise DataError if a column is missing, with the existing ones."""
    missing = [column for column in wanted if column not in split.columns]
    if missing:
        existing = ", ".join(map(repr, split.columns))
        raise DataError(f"{name}: no column {' and no '.join(map(repr, missing))}; found are {existing}")


def check_numbers_have_names(split: LoadedSplit, column: str, name: str, expected: str) -> None:
    """Raise DataError if labels are numbers without names, since their order is unknown."""
    unnamed = next((value for value in split.columns[column] if not isinstance(value, str)), None)
    if column not in split.label_names and unnamed is not None:
        message = f"{name}: {column} holds {unnamed!r:.40}, a number without a name"
        raise DataError(f"{message}; expected {expected}, as text or as a ClassLabel with these names")
