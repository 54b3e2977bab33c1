"""Ladder, an incremental ablation: components are added one by one. ConvBERT Table 1, arXiv 2008.02496."""

from collections.abc import Iterator
from typing import Literal

from search_space.candidate import Candidate
from steeplechase.configuration.designs.components import ComponentDesign, without_changes
from steeplechase.configuration.designs.point import Point
from steeplechase.foundation.errors import Violation


class Ladder(ComponentDesign):
    """Components a and b give three rows: baseline, `+a`, and `+b`, which also has a.

    A later component may override a value of an earlier one.
    """

    kind: Literal["ladder"] = "ladder"
    """Chooses an incremental ablation: one more component per row."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of components."""
        return len(self.components)

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the arms in the order of the components."""
        names = tuple(self.components)
        for count, name in enumerate(names, 1):
            added = names[:count]
            yield Point(f"+{name}", self.together(added), ("components", name), self.present_or_not(added))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield components without changes."""
        yield from without_changes(self.components, baseline)
