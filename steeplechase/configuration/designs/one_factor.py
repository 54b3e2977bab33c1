"""One factor at a time: every listed value of every axis, all other fields as in the baseline."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from search_space.candidate import Candidate
from steeplechase.configuration.designs.axes import Axes, equals_baseline
from steeplechase.configuration.designs.point import Point, PointDesign, label, level
from steeplechase.foundation.errors import Violation


class OneFactor(PointDesign):
    """Changes one field of the baseline per arm: `vary: { heads: [2, 8] }` is two arms.

    A value that equals the baseline's gives no arm. A field of an option can vary only if the baseline has it.
    """

    may_equal_baseline: ClassVar[bool] = True
    kind: Literal["one_factor"] = "one_factor"
    """Chooses one factor at a time."""
    vary: Axes
    """By path, the values other than the baseline's."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of values."""
        return sum(len(values) for values in self.vary.values())

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield a point for every value that differs from the baseline's."""
        for path, values in self.vary.items():
            for position, value in enumerate(values):
                if not equals_baseline(baseline, {path: value}):
                    name = f"{path.rsplit('.', 1)[-1]}={label(value)}"
                    yield Point(name, {path: value}, ("vary", path, position), {path: level(value)})

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield the axes without values."""
        for path, values in self.vary.items():
            if not values:
                yield Violation(("vary", path), "no values to vary over; list at least one")
