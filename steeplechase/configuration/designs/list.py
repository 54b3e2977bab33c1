"""A plain list of named arms, each with its changes from the baseline."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from search_space.candidate import Candidate
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs.point import Point, PointDesign
from steeplechase.foundation.schema import Name


def _not_reserved(name: str) -> str:
    if name == BASELINE:
        raise ValueError(f"the name {BASELINE} is reserved for the baseline")
    return name


ArmName = Annotated[Name, AfterValidator(_not_reserved)]


class ListDesign(PointDesign):
    """Named arms in the order of the table; the baseline is always first."""

    kind: Literal["list"] = "list"
    """Chooses a list of named arms."""
    arms: Mapping[ArmName, Mapping[str, Any]] = Field(min_length=1, examples=[{"depthwise": {"bottleneck_ratio": 2}}])
    """By the arm's name, its changes from the baseline by path."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of arms without the baseline."""
        return len(self.arms)

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield every arm; a list has no factors."""
        for name, changes in self.arms.items():
            yield Point(name, changes, ("arms", name))
