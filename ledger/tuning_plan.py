"""What tuning leaves in a ledger, as facts: what was tried, and what was chosen."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from foundation.schema import JsonValue, canonical_text
from ledger.tuning_selection import Choice

TUNING, CHOICES = "tuning", "own_recipes"
"""Names of the facts."""


class TuningPlan(BaseModel):
    """The points that every arm was tried at, and what a trial there was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    points: tuple[Mapping[str, JsonValue], ...]
    """What each changes of the shared recipe, which is the first and changes nothing."""
    names: tuple[str, ...]
    """Of the points, in their order."""
    shared: Mapping[str, JsonValue]
    """The shared recipe's value of every tuned field; null where its options have no such field."""
    ranges: Mapping[str, tuple[float, float]]
    """The ends of the axes that were ranges."""
    sampler: str
    """`grid`, where every combination was tried; else who drew the points."""
    seeds: tuple[int, ...]
    tokens: int
    """Of a tuning trial."""
    metric: str
    labels: tuple[str, ...]
    """The stages that a tuning trial goes through."""

    @classmethod
    def of(cls, fact: JsonValue) -> "TuningPlan":
        """Return the fact, parsed."""
        return cls.model_validate_json(canonical_text(fact))

    def values(self, path: str) -> tuple[JsonValue, ...]:
        """Return an axis's value at every point."""
        return tuple(point.get(path, self.shared[path]) for point in self.points)


def choices_of(fact: JsonValue) -> tuple[Choice, ...]:
    """Return what was chosen by arm, nothing before it was."""
    return tuple(map(Choice.of, fact)) if isinstance(fact, list) else ()
