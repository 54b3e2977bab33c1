"""Facts of tuning in the ledger: the plan, and the selected points."""

from collections.abc import Mapping
from typing import ClassVar

from steeplechase.foundation.recorded import Recorded
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.tuning_selection import Choice

TUNING, CHOICES = "tuning", "own_recipes"
"""Names of the facts."""


class TuningPlan(Recorded):
    """The points at which every arm was tried, and the settings of the tuning trials."""

    removed: ClassVar[Mapping[str, JsonValue]] = {"ranges": {}, "sampler": "grid"}

    points: tuple[Mapping[str, JsonValue], ...]
    """Changes from the shared recipe; the first point is the shared recipe, without changes."""
    names: tuple[str, ...]
    """Names of the points, in their order."""
    shared: Mapping[str, JsonValue]
    """The shared recipe's value of every tuned field; null if its options have no such field."""
    seeds: tuple[int, ...]
    tokens: int
    """Training tokens of a tuning trial."""
    metric: str
    labels: tuple[str, ...]
    """The stages of a tuning trial."""

    @classmethod
    def of(cls, fact: JsonValue) -> "TuningPlan":
        """Return the parsed fact."""
        return cls.of_record(fact)

    def values(self, path: str) -> tuple[JsonValue, ...]:
        """Return an axis's value at every point."""
        return tuple(point.get(path, self.shared[path]) for point in self.points)


def choices_of(fact: JsonValue) -> tuple[Choice, ...]:
    """Return the selected points by arm; empty before the selection."""
    return tuple(map(Choice.of, fact)) if isinstance(fact, list) else ()
