"""Designs over the values of axes: one factor at a time, a full factorial, axes that vary together."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, ClassVar, Literal

from search_space.candidate import Candidate
from steeplechase.configuration.designs.axes import (
    Axes,
    axis_violations,
    equals_baseline,
    grid,
    grid_size,
    named,
    present,
)
from steeplechase.configuration.designs.point import Point, PointDesign, label, level
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import Violation

if TYPE_CHECKING:
    from steeplechase.analysis.contrasts import CrossedDesign


class Factorial(PointDesign):
    """`vary: { heads: [2, 4], bottleneck_ratio: [1, 2] }` is four points. Fisher 1935, The Design of Experiments, VI.

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
        """Yield a point for every value that differs from the baseline's.

        A name has the last word of the path; the whole path where another axis would give the same name.
        """
        axes = Counter[str]()
        for path, values in self.vary.items():
            axes.update({_short_name(path, value) for value in values})
        for path, values in self.vary.items():
            for position, value in enumerate(values):
                if not equals_baseline(baseline, {path: value}):
                    short = _short_name(path, value)
                    name = short if axes[short] == 1 else f"{path}={label(value)}"
                    yield Point(name, {path: value}, ("vary", path, position), {path: level(value)})

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield the axes without values."""
        for path, values in self.vary.items():
            if not values:
                yield Violation(("vary", path), "no values to vary over; list at least one")


def _short_name(path: str, value: object) -> str:
    return f"{path.rpartition('.')[2]}={label(value)}"


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


def crossed(design: Factorial, baseline: Candidate, missing: Set[str] = frozenset()) -> "CrossedDesign | None":
    """Return the runs of a factorial; `missing` has the names of points that are left out.

    None if a factor is absent at some point: a field of an option is not crossed with options that lack it.
    """
    points = list(design.points(baseline))
    if any(point.levels.keys() != design.vary.keys() for point in points):
        return None
    texts = level_texts(design)
    runs = tuple(
        tuple(known.index(canonical_text(point.levels[path])) for path, known in texts.items()) for point in points
    )
    remaining = tuple(run for run, point in zip(runs, points, strict=True) if point.name not in missing)
    names = tuple(tuple(f"{path}={label(value)}" for value in values) for path, values in design.vary.items())
    from steeplechase.analysis.contrasts import CrossedDesign  # numpy, for this design alone

    return CrossedDesign(tuple(design.vary), names, runs, remaining)


def uncrossed(designs: Sequence[Factorial], baseline: Candidate) -> str:
    """Return why factorials have no main effects and interactions; empty where they have, and without a factorial."""
    without = "no main effects and interactions are given"
    if len(designs) > 1:
        return f"{len(designs)} factorials: {without}, which are of a table with one"
    for design in designs:
        here = [point.levels.keys() for point in design.points(baseline)]
        absent = [path for path in design.vary if not all(path in levels for levels in here)]
        if absent:
            return f"{', '.join(absent)} is no field of every point: {without}, which need every combination"
    return ""


def level_texts(design: Factorial) -> dict[str, list[str]]:
    """Return each factor's levels as canonical text, in declared order."""
    return {path: [canonical_text(level(value)) for value in values] for path, values in design.vary.items()}


def missing_runs_warning(design: "CrossedDesign") -> str:
    """Return a warning about the consequences of missing runs; empty if none is missing."""
    from steeplechase.analysis.contrasts import first_names

    if not design.missing:
        return ""
    correlated = design.correlated()
    not_estimable = [contrast.name for contrast in design.contrasts() if contrast.reason]
    parts = [f"{design.missing} of {len(design.runs)} runs are impossible and the factorial is not full"]
    parts += [f"no longer balanced: {first_names(design.unbalanced())}"] if design.unbalanced() else []
    parts += [f"no longer orthogonal: {first_names(correlated)}"] if correlated else []
    parts.append(f"not estimable: {first_names(not_estimable)}" if not_estimable else "every effect is estimable")
    return "; ".join(parts)
