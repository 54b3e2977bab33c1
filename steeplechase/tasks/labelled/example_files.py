"""Published files of a task: where they are, and the one way from their rows to examples."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

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
        if not examples and not mistakes.count:
            mistakes.add(1, self.no_rows)
        mistakes.refuse()
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
        declared = {"labels": (), **others}
        return DownstreamTask(
            name=name, version=1, form=form, metrics=metrics, chance=chance, files=files, **declared
        )
