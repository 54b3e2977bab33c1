"""Leave one out: the baseline, the model with every component, and that model without each of them in turn."""

from collections.abc import Iterator
from typing import Literal

from configuration.designs.components import ComponentDesign, always_idle, contested, fewer_than_two
from configuration.designs.point import Point
from foundation.errors import Violation
from search_space.candidate import Candidate

FULL = "full"


class LeaveOneOut(ComponentDesign):
    """Components a and b on a baseline without them give four rows: baseline, `full`, `without_a`, `without_b`."""

    kind: Literal["leave_one_out"] = "leave_one_out"
    """Chooses the full model and, without each component in turn, the rest."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of components and one."""
        return len(self.components) + 1

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the full model, then every model that lacks one component."""
        everything = tuple(self.components)
        yield Point(FULL, self.together(everything), ("components",), self.present_or_not(everything))
        for name in everything:
            rest = tuple(other for other in everything if other != name)
            place = ("components", name)
            yield Point(f"without_{name}", self.together(rest), place, self.present_or_not(rest))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield a lone component, one without changes, and paths that two components set."""
        yield from fewer_than_two(self.components)
        yield from always_idle(self.components, baseline)
        yield from contested(self.components)
