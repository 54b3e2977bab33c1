"""Zip: axes vary together, first value with first value, second with second."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from search_space.candidate import Candidate
from steeplechase.configuration.designs.axes import Axes, axis_violations, named, present
from steeplechase.configuration.designs.point import Point, PointDesign, level
from steeplechase.foundation.errors import Violation


class Zip(PointDesign):
    """`vary: { width: [128, 192], heads: [2, 3] }` is two points.

    For axes that make sense together alone, such as depth and width at one cost. An axis is left out at points whose
    option lacks the field.
    """

    listed: ClassVar[bool] = False
    may_equal_baseline: ClassVar[bool] = True
    kind: Literal["zip"] = "zip"
    """Chooses axes that vary together."""
    vary: Axes
    """By path, the values; the first values of all axes are one arm, the second values another."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of values of each axis."""
        return max(len(values) for values in self.vary.values())

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the points in the order of the values."""
        for values in zip(*self.vary.values(), strict=True):
            chosen = dict(zip(self.vary, values, strict=True))
            changes = {path: value for path, value in chosen.items() if _has_field(path, chosen, baseline)}
            levels = {path: level(value) for path, value in changes.items()}
            yield Point(named(changes, self.vary, baseline), changes, ("vary",), levels)

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield axes of unequal length and values that are impossible at every point; duplicates are allowed."""
        (first, first_values), *others = self.vary.items()
        for path, values in others:
            if len(values) != len(first_values):
                message = (
                    f"{len(values)} values, but {first} has {len(first_values)}; zipped axes must have equal lengths"
                )
                yield Violation(("vary", path), message)
        distinct = {path: tuple(v for i, v in enumerate(vs) if v not in vs[:i]) for path, vs in self.vary.items()}
        for violation in axis_violations(distinct, baseline):
            yield Violation(violation.path[:2], violation.message)


def _has_field(path: str, chosen: dict[str, object], baseline: Candidate) -> bool:
    return not any(path.startswith(f"{other}.") for other in chosen) or present(path, chosen, baseline)
