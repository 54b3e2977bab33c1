"""A full factorial: every combination of the listed values. Fisher 1935, The Design of Experiments, chapter VI."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from search_space.candidate import Candidate
from steeplechase.configuration.designs.axes import Axes, axis_violations, grid, grid_size, named
from steeplechase.configuration.designs.point import Point, PointDesign, level
from steeplechase.foundation.errors import Violation


class Factorial(PointDesign):
    """`vary: { heads: [2, 4], bottleneck_ratio: [1, 2] }` is four points.

    The point with the baseline's value of every factor is the baseline. An axis that is a field of an option
    multiplies only the points with that option.
    """

    listed: ClassVar[bool] = False
    may_equal_baseline: ClassVar[bool] = True
    kind: Literal["factorial"] = "factorial"
    """Chooses every combination of the values."""
    vary: Axes
    """By path, the levels of a factor."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of combinations."""
        return grid_size(self.vary, baseline)

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield every combination, the last factor fastest."""
        for changes in grid(self.vary, baseline):
            levels = {path: level(value) for path, value in changes.items()}
            yield Point(named(changes, self.vary, baseline), changes, ("vary",), levels)

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield axes without values, with duplicate values or with values that are impossible at every point."""
        yield from axis_violations(self.vary, baseline)
