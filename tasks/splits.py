"""A part of a published task as Hugging Face's `datasets` has it: a split of a configuration, and its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Split:
    """Where a part stands: `nyu-mll/glue` has a configuration per task, each with its splits."""

    configuration: str
    name: str

    def __str__(self) -> str:
        return f"{self.configuration}/{self.name}"


@dataclass(frozen=True, slots=True)
class LoadedSplit:
    """The columns of a split, all equally long, in the order of its rows."""

    columns: Mapping[str, Sequence[Any]]
    label_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By column that holds numbered labels (`ClassLabel`), what the data set calls each number."""
