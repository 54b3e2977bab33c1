"""A ladder: components are added one by one, each rung on the ones below. ConvBERT Table 1, arXiv 2008.02496."""

from collections.abc import Iterator
from typing import Literal

from configuration.designs.components import ComponentDesign, always_idle
from configuration.designs.point import Point
from foundation.errors import Violation
from search_space.candidate import Candidate


class Ladder(ComponentDesign):
    """Components a and b give three rows: baseline, `+a`, and `+b`, which has a too.

    A later component may set again what an earlier one has set: the rung has the later value.
    """

    kind: Literal["ladder"] = "ladder"
    """Chooses one component more per row."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of components."""
        return len(self.components)

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the rungs, the lowest first."""
        names = tuple(self.components)
        for rung, name in enumerate(names, 1):
            below = names[:rung]
            yield Point(f"+{name}", self.together(below), ("components", name), self.present_or_not(below))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield components without changes."""
        yield from always_idle(self.components, baseline)
