"""Zip: the axes move together, first value with first value, second with second."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from configuration.designs.axes import Axes, axis_violations, named, present
from configuration.designs.point import Point, PointDesign, level
from foundation.errors import Violation
from search_space.candidate import Candidate


class Zip(PointDesign):
    """`vary: { width: [128, 192], heads: [2, 3] }` is two points.

    At a point whose option lacks an axis's field the axis is left out.
    """

    listed: ClassVar[bool] = False
    recurs: ClassVar[bool] = True
    kind: Literal["zip"] = "zip"
    """Chooses axes that move together."""
    vary: Axes
    """By path, the values; the first values of all axes are one arm, the second another."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of values that each axis has."""
        return max(len(values) for values in self.vary.values())

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the points in the order of the values."""
        for values in zip(*self.vary.values(), strict=True):
            whole = dict(zip(self.vary, values, strict=True))
            changes = {path: value for path, value in whole.items() if _stays(path, whole, baseline)}
            levels = {path: level(value) for path, value in changes.items()}
            yield Point(named(changes, self.vary, baseline), changes, ("vary",), levels)

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield axes of unequal length and values that no point can take; a value may recur beside another."""
        (first, longest), *others = self.vary.items()
        for path, values in others:
            if len(values) != len(longest):
                message = f"{len(values)} values, but {first} has {len(longest)}; zipped axes are equally long"
                yield Violation(("vary", path), message)
        distinct = {path: tuple(v for at, v in enumerate(vs) if v not in vs[:at]) for path, vs in self.vary.items()}
        for found in axis_violations(distinct, baseline):
            yield Violation(found.path[:2], found.message)


def _stays(path: str, whole: dict[str, object], baseline: Candidate) -> bool:
    return not any(path.startswith(f"{other}.") for other in whole) or present(path, whole, baseline)
