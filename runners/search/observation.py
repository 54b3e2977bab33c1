"""One observation of a search: a candidate with its values at the rungs and at the end, as samplers see it."""

from collections.abc import Mapping
from dataclasses import dataclass

from steeplechase.foundation.schema import JsonValue


@dataclass(frozen=True)
class Observation:
    """A candidate as changes from the baseline, with what was measured of it at each rung that it reached."""

    changes: Mapping[str, JsonValue]
    losses: tuple[float, ...]
    """Held-out loss at each rung, and at the end."""
    complete: bool
    """Whether it was trained to the full budget."""
    objectives: tuple[float | None, ...] = ()
    """Values of the search's objectives, None of one that is not measured yet; if empty, the last loss is the only
    objective."""
    proposed: bool = True
    """Whether this search proposed it; False for the baseline and for observations of other searches."""
    seeds: int = 1
    """Number of trials of this observation."""
    scores: tuple[float, ...] = ()
    """Score of the hurdle's probe at each rung; empty without a probe."""
    diverged: bool = False
    """Whether a trial of it diverged, so that no value at a rung speaks for it."""

    @property
    def values(self) -> tuple[float, ...]:
        """The objectives in their order, of a complete observation."""
        return tuple(value for value in self.objectives if value is not None) or self.losses[-1:]
