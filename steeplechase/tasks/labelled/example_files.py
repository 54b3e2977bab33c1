"""Published files of a task and the way from their rows to examples; those of choices, and of sources and targets."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

from steeplechase.tasks.corpora.file_lines import check_signature, json_of_line, text_lines
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Form, Part, TaskFiles


@dataclass(frozen=True, kw_only=True)
class ExampleFiles:
    """What every layout of files declares; a layout reads the rows of one file."""

    folder: str
    """Name of the folder of the files; `collection` may be its parent folder."""
    collection: str = ""
    origin: str
    """Download page, for messages."""
    parts: Mapping[str, str]
    """File name by part, or a pattern that one file matches."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of examples of train and dev."""
    about: str = ""
    """What the task asks, and its source."""
    no_rows: ClassVar[str] = "the file has no rows"
    """What is wrong with a file without examples."""

    @abstractmethod
    def rows(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[Example | None]:
        """Yield the example of every row; None for a row that is left out and counted."""

    def read(self, part: str, path: Path, name: str) -> Part:
        """Return the examples of a file; raises DataError with every mistake."""
        mistakes = Mistakes(name)
        return self.part_of(self.rows(part, path, name, mistakes), mistakes)

    def part_of(self, rows: Iterator[Example | None], mistakes: Mistakes) -> Part:
        """Return the examples of rows; raises DataError with every mistake, or where there is no example."""
        found = [*rows]
        examples = tuple(each for each in found if each is not None)
        mistakes.refuse(self.no_rows if not examples else "")
        return Part(examples, len(found) - len(examples))

    def declared(
        self, name: str, form: Form, metrics: tuple[str, ...], chance: float | None, **others: Any
    ) -> DownstreamTask:
        """Return the task of these files; `others` are fields of `DownstreamTask` and of `TaskFiles`."""
        of_files = {key: others.pop(key) for key in [*others] if key in TaskFiles.__dataclass_fields__}
        files = TaskFiles(
            folder=self.folder,
            collection=self.collection,
            parts=self.parts,
            origin=self.origin,
            read=self.read,
            counts=self.counts,
            **of_files,
        )
        declared = {"labels": (), "about": self.about, **others}
        return DownstreamTask(
            name=name, version=1, form=form, metrics=metrics, chance=chance, files=files, **declared
        )


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
    """Files of a multiple-choice task, and the reader of their rows.

    One row per example, a column per ending, and the index of the right one.
    """

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


TRANSLATION, SUMMARIES = ("bleu", "chrf"), ("rougeL", "rouge1", "rouge2")
"""Metrics of a task; the first is the primary one."""


@dataclass(frozen=True, kw_only=True)
class TextPairFiles(ExampleFiles):
    """Where a task's sources and targets are; `parts` has the files of the sources, or of both.

    Two files with a line for each text, or objects with a field for each.
    """

    metrics: tuple[str, ...]
    source: str = ""
    """The field of the source in an object; empty for two files."""
    target: str = ""
    """The field of the target."""
    targets: Mapping[str, str] = field(default_factory=dict)
    """By part, the file of the targets, beside that of the sources; empty for objects."""
    no_rows: ClassVar[str] = "the file has no pairs"

    def task(self, name: str) -> DownstreamTask:
        """Return the task of these files under a name: pairs of a source and a target."""
        return self.declared(name, "text_pair", self.metrics, None, beside=self.targets)

    def rows(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[Example]:
        """Yield the pairs of a part."""
        check_signature(path, name, path.suffix)
        rows = self._objects(path, name, mistakes) if self.source else self._aligned(part, path, name, mistakes)
        for number, source, target in self._filled(rows, mistakes):
            yield Example(source, target, source=name, row=str(number))

    @staticmethod
    def _filled(rows: Iterator[tuple[int, str, str]], mistakes: Mistakes) -> Iterator[tuple[int, str, str]]:
        for number, source, target in rows:
            empty = [what for what, text in (("source", source), ("target", target)) if not text.strip()]
            if empty:
                mistakes.add(number, f"the {' and the '.join(empty)} is empty, expected a text")
            yield number, source.strip(), target.strip()

    def _aligned(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[tuple[int, str, str]]:
        """Yield the lines of both files together; a file that ends before the other is a mistake."""
        other = path.with_name(self.targets[part])
        check_signature(other, other.name, other.suffix)
        both = zip_longest(text_lines(path, name), text_lines(other, other.name))
        for number, (one, two) in enumerate(both, start=1):
            if one is None or two is None:
                shorter, longer = (path.name, other.name) if one is None else (other.name, path.name)
                mistakes.add(number, f"{shorter} ends after {number - 1} lines, {longer} has more; they are no pairs")
                return
            yield number, one[1], two[1]

    def _objects(self, path: Path, name: str, mistakes: Mistakes) -> Iterator[tuple[int, str, str]]:
        for number, line in text_lines(path, name):
            if not line.strip():
                continue
            try:
                row = json_of_line(line)
            except ValueError as wrong:
                mistakes.add(number, f"not JSON: {wrong}")
                continue
            texts = [row.get(key) if isinstance(row, dict) else None for key in (self.source, self.target)]
            if all(isinstance(text, str) for text in texts):
                yield number, str(texts[0]), str(texts[1])
            else:
                mistakes.add(number, f'expected an object with texts under "{self.source}" and "{self.target}"')
