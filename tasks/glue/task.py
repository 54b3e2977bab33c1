"""What GLUE's tasks have in common: rows become examples, labels by their name and never by their place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tasks.downstream.task import DownstreamTask, Example, Form, Part, TaskFiles
from tasks.glue.judging import judged
from tasks.glue.table import Mistakes, Row, rows_of

ORIGIN = "gluebenchmark.com/tasks"
PARTS = {"train": "train.tsv", "dev": "dev.tsv", "test": "test.tsv"}
UNLABELLED = frozenset({"test", "mismatched_test", "diagnostic"})


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a file hold what."""

    first: str
    second: str | None = None
    answer: str | None = None  # None where others mark it
    row: str | None = None  # what names a row; its place among the rows, from 0, where there is no such column
    all: tuple[str, ...] | None = None  # the columns of a file without a header

    @property
    def wanted(self) -> list[str]:
        """Return the columns that must be there."""
        return [column for column in (self.first, self.second, self.answer, self.row) if column is not None]


@dataclass(frozen=True, slots=True)
class GlueTable:
    """How the files of one task are read."""

    folder: str
    counts: Mapping[str, int]  # examples of the official train and dev files
    columns: Mapping[str, Columns]  # by part; the columns of `dev` where a part has none of its own
    parts: Mapping[str, str] = field(default_factory=lambda: dict(PARTS))
    labels: tuple[str, ...] = ()
    spellings: Mapping[str, int] = field(default_factory=dict)
    """What a file may write for a label besides its name."""
    unanswered: frozenset[str] = frozenset()
    """Answers that are none: the row is left out and counted."""
    value_range: tuple[float, float] | None = None
    unordered: bool = False
    """Whether the two texts may change places without another answer."""
    leaves_out_broken: bool = False
    """Whether rows with a wrong number of cells are left out and counted, since the published file has some."""

    def task(self, name: str, form: Form, metrics: tuple[str, ...], chance: float) -> DownstreamTask:
        """Return the task; the first metric is the one the paper's GLUE score takes, chance a share of it."""
        files = TaskFiles(
            self.folder, self.parts, f"{ORIGIN} ({self.folder})", self.read, self.counts, collection="glue"
        )
        task = DownstreamTask(
            name=name,
            version=1,
            form=form,
            labels=self.labels,
            metrics=metrics,
            chance=chance,
            files=files,
            value_range=self.value_range,
            unordered=self.unordered,
        )
        return replace(task, judge=partial(judged, task, self))

    def read(self, part: str, path: Path, name: str) -> Part:
        """Return the examples of a file; raises DataRefused with every mistake of it."""
        columns = self.columns.get(part, self.columns["dev"])
        mistakes, broken = Mistakes(name), Mistakes(name)
        wrong_rows = broken if self.leaves_out_broken else mistakes
        examples: list[Example] = []
        unanswered = 0
        seen: dict[str, int] = {}
        for place, row in enumerate(rows_of(path, name, columns.all, columns.wanted, wrong_rows)):
            if columns.answer is not None and row.cells[columns.answer] in self.unanswered:
                unanswered += 1
                continue
            label, value = self._answer(row, columns, mistakes)
            identity = str(place) if columns.row is None else row.cells[columns.row]
            if part in UNLABELLED and identity in seen:
                mistakes.add(row.line, f"row {identity!r} stands in line {seen[identity]} too")
            seen[identity] = row.line
            second = None if columns.second is None else row.cells[columns.second]
            examples.append(Example(row.cells[columns.first], second, label, source=name, value=value, row=identity))
        if not examples and not mistakes.count:
            mistakes.add(1, "the file holds no rows")
        mistakes.refuse()
        return Part(tuple(examples), unanswered + broken.count)

    def label_of(self, text: str) -> int | None:
        """Return the label that a text stands for, by its name or its spelling; None for none."""
        return self.labels.index(text) if text in self.labels else self.spellings.get(text)

    def value_of(self, text: str) -> float | None:
        """Return the value that a text stands for; None where it is no number of the range."""
        assert self.value_range is not None
        try:
            value = float(text)
        except ValueError:
            return None
        least, greatest = self.value_range
        return value if math.isfinite(value) and least <= value <= greatest else None

    @property
    def answers(self) -> str:
        """Return what an answer may be, in words."""
        if self.value_range is not None:
            return f"a number from {self.value_range[0]:g} to {self.value_range[1]:g}"
        return " or ".join([*self.labels, *self.spellings])

    def _answer(self, row: Row, columns: Columns, mistakes: Mistakes) -> tuple[int | None, float | None]:
        if columns.answer is None:
            return None, None
        text = row.cells[columns.answer]
        label, value = (None, self.value_of(text)) if self.value_range is not None else (self.label_of(text), None)
        if label is None and value is None:
            mistakes.add(row.line, f"{columns.answer} is {text[:40]!r}; expected {self.answers}")
        return label, value
