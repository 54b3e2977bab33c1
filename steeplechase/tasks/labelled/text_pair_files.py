"""Reads files of sources and targets: two files with a line for each text, or objects with a field for each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from steeplechase.tasks.corpora.file_lines import check_signature, json_of_line, text_lines
from steeplechase.tasks.labelled.example_files import ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example

TRANSLATION, SUMMARIES = ("bleu", "chrf"), ("rougeL", "rouge1", "rouge2")
"""Metrics of a task; the first is the primary one."""


@dataclass(frozen=True, kw_only=True)
class TextPairFiles(ExampleFiles):
    """Where a task's sources and targets are; `parts` has the files of the sources, or of both."""

    metrics: tuple[str, ...]
    source: str = ""
    """The field of the source in an object; empty for two files."""
    target: str = ""
    """The field of the target."""
    targets: Mapping[str, str] = field(default_factory=dict)
    """By part, the file of the targets, beside that of the sources; empty for objects."""
    no_rows: ClassVar[str] = "the file has no pairs"

    def task(self, name: str) -> DownstreamTask:
        """Return the task."""
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
