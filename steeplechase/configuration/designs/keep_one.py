"""Keep one: the baseline, and the baseline with each component alone."""

from collections.abc import Iterator
from typing import Literal

from search_space.candidate import Candidate
from steeplechase.configuration.designs.components import ComponentDesign, fewer_than_two, without_changes
from steeplechase.configuration.designs.point import Point
from steeplechase.foundation.errors import Violation


class KeepOne(ComponentDesign):
    """Components a and b give three rows: baseline, `only_a`, `only_b`."""

    kind: Literal["keep_one"] = "keep_one"
    """Chooses the baseline with each component alone."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of components."""
        return len(self.components)

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the baseline with each component alone."""
        for name, changes in self.components.items():
            yield Point(f"only_{name}", changes, ("components", name), self.present_or_not((name,)))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield a single component, and components without changes."""
        yield from fewer_than_two(self.components)
        yield from without_changes(self.components, baseline)
