"""Common reader of GLUE's tasks: rows become examples; labels are read by name, never by index."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.glue.evaluate import evaluate
from steeplechase.tasks.glue.table import (
    HIDDEN,
    Columns,
    Configuration,
    Row,
    check_columns,
    check_numbers_have_names,
    rows_of,
    rows_of_split,
)
from steeplechase.tasks.labelled.example_files import ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Form, Part
from steeplechase.tasks.splits import LoadedSplit

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
        check_columns(split, name, columns.wanted)
        if columns.answer is not None:
            self._check_names(split, columns.answer, name)
        hidden = min(self.unanswered, default=str(HIDDEN))
        broken = Mistakes(name) if self.leaves_out_broken else mistakes
        rows = rows_of_split(split, columns, hidden, broken)
        return self.part_of(self._examples(part, columns, rows, mistakes, broken), mistakes)

    def _examples(
        self, part: str, columns: Columns, rows: Iterable[Row], mistakes: Mistakes, broken: Mistakes
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
        if self.value_range is None:
            check_numbers_have_names(split, column, name, self.answers)

    def _answer(self, row: Row, columns: Columns, mistakes: Mistakes) -> tuple[int | None, float | None]:
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
