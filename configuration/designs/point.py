"""What every design offers: points, each a name, its changes from the baseline, and its level of every factor."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from foundation.errors import Violation
from foundation.schema import JsonValue, Schema
from search_space.candidate import Candidate

ARMS_AT_MOST = 1024
"""Maximum number of arms of an experiment: more make no table, and are refused before any is made."""

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """One point that a design asks for. It may turn out to be impossible, or the baseline itself."""

    name: str
    changes: Changes
    place: tuple[str | int, ...]
    """Where it is written, seen from the design."""
    levels: Mapping[str, JsonValue] = field(default_factory=dict)
    """By factor: the value of a path, or whether a component is there. A factor that the point lacks is left out."""


class PointDesign(Schema):
    """A design whose points are known before anything has run."""

    listed: ClassVar[bool] = True
    """Whether each point is written down by itself, so that a fault of one is told at its own place; the points of a
    grid are made, so that theirs are counted."""
    recurs: ClassVar[bool] = False
    """Whether a point may be the baseline; where it may not, it is a mistake."""

    def size(self, baseline: Candidate) -> int:
        """Return an upper bound of the number of points in closed form, whatever else is wrong."""
        raise NotImplementedError

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the points in the order in which a table shows them; `own_violations` has found nothing."""
        raise NotImplementedError

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield what is wrong with the declaration before any point is made."""
        yield from ()

    def notes(self) -> Iterator[str]:
        """Yield what one must know to read the design's table, a line each."""
        yield from ()


def level(value: Any) -> JsonValue:
    """Return a value of an axis as plain data."""
    return {str(name): level(inner) for name, inner in value.items()} if isinstance(value, Mapping) else value


def label(value: Any) -> str:
    """Return a value of an axis as it stands in a name: an option by its kind."""
    if not isinstance(value, Mapping) or "kind" not in value:
        return str(value)
    fields = ", ".join(f"{name}={inner}" for name, inner in value.items() if name != "kind")
    return f"{value['kind']}({fields})" if fields else str(value["kind"])
