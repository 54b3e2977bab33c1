"""Columns of the official files, and of `nyu-mll/glue` in `datasets`."""

from collections.abc import Mapping
from dataclasses import dataclass

from steeplechase.tasks.splits import Split

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
