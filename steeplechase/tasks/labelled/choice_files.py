"""Reads files of multiple choices: one row per example, a column per ending, and the index of the right one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from steeplechase.tasks.labelled.example_files import ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example

ReadRows = Callable[[str, Path, str, Mistakes], Iterator["ChoiceRow"]]
"""Called with the part, its file, the name of the file in messages, and a collector of mistakes."""


def is_ambiguous(label: int, endings: Sequence[str]) -> bool:
    """Return whether another ending has the same text as the right one; spaces at the ends do not count."""
    texts = [ending.strip() for ending in endings]
    return texts.count(texts[label]) > 1


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """The cells of one row."""

    line: int
    context: str
    endings: tuple[str, ...]
    label: str | None
    """None in a part whose labels are withheld."""


@dataclass(frozen=True, kw_only=True)
class ChoiceFiles(ExampleFiles):
    """Files of a multiple-choice task, and the reader of their rows."""

    collection: str = "multiple_choice"
    read_rows: ReadRows
    endings: int = 4
    no_rows: ClassVar[str] = "the file has no usable rows"

    def task(self, name: str) -> DownstreamTask:
        """Return the task; its metric is accuracy, and chance is one over the number of endings."""
        return self.declared(name, "choice", ("accuracy",), 1 / self.endings, labels=self.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The indices of the endings, as the files write them."""
        return tuple(str(number) for number in range(self.endings))

    def rows(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[Example | None]:
        """Yield the examples of a file.

        Rows whose right ending has the same text as another one are left out and counted; two equal wrong endings,
        which published files contain, are kept.
        """
        for index, row in enumerate(self.read_rows(part, path, name, mistakes)):
            label = self._label(row, mistakes)
            self._check_texts(row, mistakes)
            if label is not None and is_ambiguous(label, row.endings):
                yield None
            else:
                yield Example(row.context, label=label, source=name, row=str(index), endings=row.endings)

    def prediction_of(self, text: str) -> float | None:
        """Return the index of a predicted ending, None if the text is invalid."""
        return self.labels.index(text) if text in self.labels else None

    @property
    def predictions(self) -> str:
        """Return the allowed predictions, for messages."""
        return ", ".join(self.labels)

    def _label(self, row: ChoiceRow, mistakes: Mistakes) -> int | None:
        if row.label is None:
            return None
        if row.label not in self.labels:
            written = repr(row.label[:40]) if row.label.strip() else "missing"
            mistakes.add(
                row.line, f"the label is {written}; expected {self.predictions}, the index of the right ending"
            )
            return None
        return self.labels.index(row.label)

    def _check_texts(self, row: ChoiceRow, mistakes: Mistakes) -> None:
        present = sum(bool(ending.strip()) for ending in row.endings)
        if present < self.endings:
            mistakes.add(row.line, f"{present} endings, expected {self.endings}; an ending has no text")
        if not row.context.strip():
            mistakes.add(row.line, "no text before the endings")
