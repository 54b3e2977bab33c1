"""A plain list of named arms, each with its changes from the baseline."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from runners.designs.arm import BASELINE, Arm, baseline_arm, changed_arm, violations_of
from search_space.candidate import Candidate
from search_space.declaration import Declaration, Name
from search_space.violation import Violation


def _not_reserved(name: str) -> str:
    if name == BASELINE:
        raise ValueError(f"the name {BASELINE} is taken by the baseline itself")
    return name


ArmName = Annotated[Name, AfterValidator(_not_reserved)]


class ListDesign(Declaration):
    """Arms in the order in which a table shows them; the baseline always comes first."""

    kind: Literal["list"] = "list"
    arms: Mapping[ArmName, Mapping[str, Any]] = Field(min_length=1, examples=[{"depthwise": {"bottleneck_ratio": 2}}])

    def candidates(self, baseline: Candidate) -> tuple[Arm, ...]:
        """Return every arm, the baseline first."""
        changed = (changed_arm(name, baseline, changes) for name, changes in self.arms.items())
        return (baseline_arm(baseline), *changed)

    def violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield every arm that cannot be, changes nothing or repeats another."""
        yield from violations_of(baseline, ((name, ("arms", name), changes) for name, changes in self.arms.items()))
