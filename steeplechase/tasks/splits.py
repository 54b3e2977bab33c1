"""A split of a published task in Hugging Face's `datasets`, and its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a configuration; `nyu-mll/glue` has one configuration per task."""

    configuration: str
    name: str

    def __str__(self) -> str:
        return f"{self.configuration}/{self.name}"


@dataclass(frozen=True, slots=True)
class LoadedSplit:
    """The columns of a split, all equally long, in the order of its rows."""

    columns: Mapping[str, Sequence[Any]]
    label_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Label names by column of numbered labels (`ClassLabel`)."""
