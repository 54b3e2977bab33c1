"""Leave one out: the baseline, the full model with every component, and the full model without each component."""

from collections.abc import Iterator
from typing import Literal

from search_space.candidate import Candidate
from steeplechase.configuration.designs.components import ComponentDesign, fewer_than_two, set_twice, without_changes
from steeplechase.configuration.designs.point import Point
from steeplechase.foundation.errors import Violation

FULL = "full"


class LeaveOneOut(ComponentDesign):
    """Components a and b on a baseline without them give four rows: baseline, `full`, `without_a`, `without_b`."""

    kind: Literal["leave_one_out"] = "leave_one_out"
    """Chooses the full model, and the full model without each component in turn."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of components plus one."""
        return len(self.components) + 1

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the full model, then the full model without each component."""
        everything = tuple(self.components)
        yield Point(FULL, self.together(everything), ("components",), self.present_or_not(everything))
        for name in everything:
            rest = tuple(other for other in everything if other != name)
            location = ("components", name)
            yield Point(f"without_{name}", self.together(rest), location, self.present_or_not(rest))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield a single component, components without changes, and paths that two components set."""
        yield from fewer_than_two(self.components)
        yield from without_changes(self.components, baseline)
        yield from set_twice(self.components)
