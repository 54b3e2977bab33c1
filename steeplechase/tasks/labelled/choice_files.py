"""Reads files of multiple choices: one row per example, a column per ending, and the index of the right one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Part, TaskFiles

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


@dataclass(frozen=True, slots=True)
class ChoiceFiles:
    """Files of a multiple-choice task, and the reader of their rows."""

    folder: str
    parts: Mapping[str, str]
    counts: Mapping[str, int]
    origin: str
    rows: ReadRows
    endings: int = 4

    def task(self, name: str) -> DownstreamTask:
        """Return the task; its metric is accuracy, and chance is one over the number of endings."""
        files = TaskFiles(
            folder=self.folder,
            parts=self.parts,
            origin=self.origin,
            read=self.read,
            counts=self.counts,
            collection="multiple_choice",
        )
        return DownstreamTask(
            name=name,
            version=1,
            form="choice",
            labels=self.labels,
            metrics=("accuracy",),
            chance=1 / self.endings,
            files=files,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The indices of the endings, as the files write them."""
        return tuple(str(number) for number in range(self.endings))

    def read(self, part: str, path: Path, name: str) -> Part:
        """Return the examples of a file; raises DataError with every mistake.

        Rows whose right ending has the same text as another one are left out and counted; two equal wrong endings,
        which published files contain, are kept.
        """
        mistakes = Mistakes(name)
        examples: list[Example] = []
        ambiguous = 0
        for index, row in enumerate(self.rows(part, path, name, mistakes)):
            label = self._label(row, mistakes)
            self._check_texts(row, mistakes)
            if label is not None and is_ambiguous(label, row.endings):
                ambiguous += 1
            else:
                examples.append(Example(row.context, label=label, source=name, row=str(index), endings=row.endings))
        if not examples and not mistakes.count:
            mistakes.add(1, "the file has no usable rows")
        mistakes.refuse()
        return Part(tuple(examples), ambiguous)

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
