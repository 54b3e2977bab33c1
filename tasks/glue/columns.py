"""Which columns hold what: of the official files, and of `nyu-mll/glue`, as `datasets` has the same tasks."""

from collections.abc import Mapping
from dataclasses import dataclass

from tasks.splits import Split

LABEL, ROW = "label", "idx"  # the same in all of the data set's configurations


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a file hold what."""

    first: str
    second: str | None = None
    answer: str | None = None  # None where others mark it
    row: str | None = None  # what names a row; its place among the rows, from 0, where there is no such column
    all: tuple[str, ...] | None = None  # the columns of a file without a header

    @property
    def texts(self) -> list[str]:
        """Return the columns that hold text."""
        return [column for column in (self.first, self.second) if column is not None]

    @property
    def wanted(self) -> list[str]:
        """Return the columns that must be there."""
        return [*self.texts, *(column for column in (self.answer, self.row) if column is not None)]


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where the data set has a task's parts, and what it calls their texts."""

    splits: Mapping[str, Split]
    first: str
    second: str | None = None

    def columns(self, labelled: bool) -> Columns:
        """Return the columns of a split; a row of an unlabelled test is called by its number there."""
        return Columns(self.first, self.second, LABEL if labelled else None, None if labelled else ROW)


def configuration(name: str, first: str, second: str | None = None) -> Configuration:
    """Return a configuration whose splits are called as most are."""
    splits = {"train": "train", "dev": "validation", "test": "test"}
    return Configuration({part: Split(name, split) for part, split in splits.items()}, first, second)
