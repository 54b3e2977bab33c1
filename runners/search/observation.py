"""One observation of a search: a candidate with its losses, as samplers see it."""

from collections.abc import Mapping
from dataclasses import dataclass

from steeplechase.foundation.schema import JsonValue


@dataclass(frozen=True)
class Observation:
    """A candidate as changes from the baseline, with its held-out loss at each rung that it reached."""

    changes: Mapping[str, JsonValue]
    losses: tuple[float, ...]
    complete: bool
    """Whether it was trained to the full budget."""
    objectives: tuple[float, ...] = ()
    """Values of the search's objectives, if complete; if empty, the last loss is the only objective."""
    proposed: bool = True
    """Whether this search proposed it; False for the baseline and for observations of other searches."""
    seeds: int = 1
    """Number of trials of this observation."""

    @property
    def values(self) -> tuple[float, ...]:
        """The objectives in their order."""
        return self.objectives or self.losses[-1:]
