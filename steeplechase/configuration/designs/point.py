"""Interface of designs: points, each with a name, its changes from the baseline and its factor levels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from search_space.candidate import Candidate
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import JsonValue, Schema

ARMS_AT_MOST = 1024
"""Maximum number of arms of an experiment, checked before any arm is made."""

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """One point of a design. It may be impossible, or equal to the baseline."""

    name: str
    changes: Changes
    location: tuple[str | int, ...]
    """Path of its declaration, relative to the design."""
    levels: Mapping[str, JsonValue] = field(default_factory=dict)
    """By factor: the value of a path, or whether a component is present. Absent factors are left out."""


class PointDesign(Schema):
    """A design whose points are known before the run."""

    listed: ClassVar[bool] = True
    """Whether each point is declared individually, and its violations have its own location. Violations at generated
    points, as of a grid, are summarised."""
    may_equal_baseline: ClassVar[bool] = False
    """Whether a point may equal the baseline; it is an error otherwise."""

    def size(self, baseline: Candidate) -> int:
        """Return an upper bound of the number of points in closed form, also for an invalid declaration."""
        raise NotImplementedError

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the points in the order of the table; requires that `own_violations` yields nothing."""
        raise NotImplementedError

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield the violations that are known before any point is made."""
        yield from ()

    def notes(self) -> Iterator[str]:
        """Yield notes for readers of the design's table, one line each."""
        yield from ()


def level(value: Any) -> JsonValue:
    """Return a value of an axis as plain data."""
    return {str(name): level(inner) for name, inner in value.items()} if isinstance(value, Mapping) else value


def label(value: Any) -> str:
    """Return a value of an axis as text for names: an option by its kind."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(label, value))})"
    if not isinstance(value, Mapping) or "kind" not in value:
        return str(value)
    fields = ", ".join(f"{name}={inner}" for name, inner in value.items() if name != "kind")
    return f"{value['kind']}({fields})" if fields else str(value["kind"])
