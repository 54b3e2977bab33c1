"""GLUE's files, and `nyu-mll/glue` in `datasets`: rows become examples; labels are read by name, never by index.

Files are tab-separated, without quoting; `NA`, `None` and quotation marks are plain text.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import check_signature
from steeplechase.tasks.glue.evaluate import evaluate
from steeplechase.tasks.labelled.delimited import DelimitedRow, tab_cells, whole_rows
from steeplechase.tasks.labelled.example_files import ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Form, Part
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


def rows_of(
    path: Path, name: str, columns: Sequence[str] | None, wanted: Sequence[str], mistakes: Mistakes
) -> Iterator[DelimitedRow]:
    """Yield the rows of a table; `columns` are the names for a file without a header.

    A row with another number of cells than the header is a mistake and is not yielded. Raises DataError, with line
    and byte, for invalid UTF-8, and if `wanted` columns are missing from the header.
    """
    check_signature(path, name, path.suffix)
    rows = tab_cells(path, name)
    if columns is None:
        _, columns = next(rows, (1, [""]))
        _refuse_missing(f"{name}:1", columns, wanted, " in the header")
    yield from whole_rows(rows, columns, mistakes)


def _refuse_missing(place: str, columns: Iterable[str], wanted: Sequence[str], where: str = "") -> None:
    """Raise DataError if a column is missing, with the first ones that there are."""
    found = [*columns]
    missing = [column for column in wanted if column not in found]
    if missing:
        existing = ", ".join(map(repr, found[:12]))
        raise DataError(f"{place}: no column {' and no '.join(map(repr, missing))}{where}; found are {existing}")


HIDDEN = -1
"""Number of a withheld label on the hub."""


def rows_of_split(split: LoadedSplit, columns: Columns, hidden: str, mistakes: Mistakes) -> Iterator[DelimitedRow]:
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
        yield DelimitedRow(
            number, {column: value if isinstance(value, str) else repr(value) for column, value in row.items()}
        )


def _name(label: Any, names: Sequence[str], hidden: str) -> str:
    return names[label] if isinstance(label, int) and 0 <= label < len(names) else hidden


ORIGIN = "gluebenchmark.com/tasks"
PARTS = {"train": "train.tsv", "dev": "dev.tsv", "test": "test.tsv"}
UNLABELLED = frozenset({"test", "mismatched_test", "diagnostic"})


@dataclass(frozen=True, kw_only=True)
class GlueTable(ExampleFiles):
    """Format of one task's files."""

    collection: str = "glue"
    origin: str = ORIGIN
    parts: Mapping[str, str] = field(default_factory=lambda: dict(PARTS))
    columns: Mapping[str, Columns]  # by part; others have the columns of `dev`
    configuration: Configuration
    labels: tuple[str, ...] = ()
    spellings: Mapping[str, int] = field(default_factory=dict)
    """Alternative spellings of labels in files."""
    unanswered: frozenset[str] = frozenset()
    """Values for a missing label; such rows are skipped and counted."""
    value_range: tuple[float, float] | None = None
    unordered: bool = False
    """Whether the task is symmetric in its two texts."""
    leaves_out_broken: bool = False
    """Whether rows with a wrong number of cells, which the published file has, are skipped and counted."""
    no_rows: ClassVar[str] = "the file holds no rows"

    def task(self, name: str, form: Form, metrics: tuple[str, ...], chance: float) -> DownstreamTask:
        """Return the task; the first metric is that of the papers' GLUE score, `chance` its value by chance."""
        task = replace(self, origin=f"{self.origin} ({self.folder})").declared(
            name,
            form,
            metrics,
            chance,
            labels=self.labels,
            value_range=self.value_range,
            unordered=self.unordered,
            splits=self.configuration.splits,
            read_split=self.read_split,
        )
        return replace(task, evaluate=partial(evaluate, task, self))

    def rows(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[Example | None]:
        """Yield the examples of a file."""
        columns = self.columns.get(part, self.columns["dev"])
        broken = Mistakes(name) if self.leaves_out_broken else mistakes
        rows = rows_of(path, name, columns.all, columns.wanted, broken)
        yield from self._examples(part, columns, rows, mistakes, broken)

    def read_split(self, part: str, split: LoadedSplit, name: str) -> Part:
        """Return the examples of a split of `datasets`; raises DataError with every mistake.

        Labels are read by name. Rows of an unlabelled test set are identified by their `idx`; labels there are not
        read, although the hub has those of MRPC.
        """
        columns = self.configuration.columns(labelled=part not in UNLABELLED)
        mistakes = Mistakes(name)
        _refuse_missing(name, split.columns, columns.wanted)
        if columns.answer is not None:
            self._check_names(split, columns.answer, name)
        hidden = min(self.unanswered, default=str(HIDDEN))
        broken = Mistakes(name) if self.leaves_out_broken else mistakes
        rows = rows_of_split(split, columns, hidden, broken)
        return self.part_of(self._examples(part, columns, rows, mistakes, broken), mistakes)

    def _examples(
        self, part: str, columns: Columns, rows: Iterable[DelimitedRow], mistakes: Mistakes, broken: Mistakes
    ) -> Iterator[Example | None]:
        line_of: dict[str, int] = {}
        for index, row in enumerate(rows):
            if columns.answer is not None and row.cells[columns.answer] in self.unanswered:
                yield None
                continue
            label, value = self._answer(row, columns, mistakes)
            identity = str(index) if columns.row is None else row.cells[columns.row]
            if part in UNLABELLED and identity in line_of:
                mistakes.add(row.line, f"duplicate row {identity!r}, first in line {line_of[identity]}")
            line_of[identity] = row.line
            second = None if columns.second is None else row.cells[columns.second]
            yield Example(row.cells[columns.first], second, label, source=mistakes.name, value=value, row=identity)
        yield from [None] * (broken.count if self.leaves_out_broken else 0)

    def prediction_of(self, text: str) -> float | None:
        """Return the label's number or the predicted value, None if the text is invalid.

        A predicted value may be outside the range of the references, because the official metrics are correlations.
        """
        return self.label_of(text) if self.value_range is None else _finite(text)

    def label_of(self, text: str) -> int | None:
        """Return the number of a label, given by its name or an alternative spelling; None if invalid."""
        return self.labels.index(text) if text in self.labels else self.spellings.get(text)

    def value_of(self, text: str) -> float | None:
        """Return the value of a reference, None if it is not a number in the range."""
        assert self.value_range is not None
        least, greatest = self.value_range
        value = _finite(text)
        return value if value is not None and least <= value <= greatest else None

    @property
    def predictions(self) -> str:
        """Return the allowed predictions, for messages."""
        return self.answers if self.value_range is None else "a finite number"

    @property
    def answers(self) -> str:
        """Return the allowed references, for messages."""
        if self.value_range is not None:
            return f"a number from {self.value_range[0]:g} to {self.value_range[1]:g}"
        return " or ".join([*self.labels, *self.spellings])

    def _check_names(self, split: LoadedSplit, column: str, name: str) -> None:
        """Raise DataError if the label names of a split are not the task's."""
        names = split.label_names.get(column)
        if names is not None and {self.label_of(each) for each in names} != {*range(len(self.labels))}:
            raise DataError(f"{name}: the labels of {column} are {' and '.join(names)}; expected {self.answers}")
        unnamed = next((value for value in split.columns[column] if not isinstance(value, str)), None)
        if self.value_range is None and names is None and unnamed is not None:  # their order is unknown
            message = f"{name}: {column} holds {unnamed!r:.40}, a number without a name"
            raise DataError(f"{message}; expected {self.answers}, as text or as a ClassLabel with these names")

    def _answer(self, row: DelimitedRow, columns: Columns, mistakes: Mistakes) -> tuple[int | None, float | None]:
        if columns.answer is None:
            return None, None
        text = row.cells[columns.answer]
        label, value = (None, self.value_of(text)) if self.value_range is not None else (self.label_of(text), None)
        if label is None and value is None:
            mistakes.add(row.line, f"{columns.answer} is {text[:40]!r}; expected {self.answers}")
        return label, value


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
