"""The points that every arm is tried at: the shared recipe first, then the grid where it fits, else a draw.

A point is the changes that it makes to an arm's recipe; the shared recipe makes none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from math import log
from typing import Any, Literal

from configuration.designs.axes import grid, grid_size, named, present
from configuration.designs.point import level
from configuration.tuning import LogRange, Range, Tune
from foundation.schema import JsonValue, canonical, canonical_text
from search_space.candidate import Candidate
from search_space.overrides import absolute_path, apply

SHARED = "shared"
AT = "@"
DIGITS = 3
"""Significant digits that a drawn value is rounded to, so that what a table shows is what was tried."""
DRAWS_PER_POINT = 100
"""A draw that repeats a point, or that some arm cannot have, is made again; a space this worn out is exhausted."""

Point = Mapping[str, JsonValue]
Possible = Callable[[Point], bool]


@dataclass(frozen=True)
class Extent:
    """A range to draw numbers from."""

    low: float
    high: float
    log: bool
    """Whether evenly in the logarithm."""


Draws = Callable[[Mapping[str, Extent], Mapping[str, int], Literal["qmc", "random"], int], Iterator[dict[str, float]]]
"""From ranges, counts of listed values, a sampler's name and a seed: points without end."""


def grid_points(tune: Tune, baseline: Candidate) -> tuple[Point, ...] | None:
    """Return the shared recipe and every other combination of the listed values; None where they must be drawn."""
    if tune.ranges or grid_size(tune.listed, baseline) > tune.trials:
        return None
    combinations = (_changes(point, baseline) for point in grid(tune.listed, baseline))
    points = _distinct(({}, *combinations), baseline)
    return points if len(points) <= tune.trials else None


def points_of(tune: Tune, baseline: Candidate, possible: Possible, draws: Draws) -> tuple[Point, ...]:
    """Return the points; fewer than there are trials only where no more can be found. `draws` is the sampler."""
    whole = grid_points(tune, baseline)
    if whole is not None:
        return whole
    drawn = islice(_drawn(tune, baseline, draws), DRAWS_PER_POINT * tune.trials)
    return _distinct(chain([{}], filter(possible, drawn)), baseline, tune.trials)


def point_count(tune: Tune, baseline: Candidate) -> int:
    """Return how many points every arm is tried at, without drawing any."""
    whole = grid_points(tune, baseline)
    return tune.trials if whole is None else len(whole)


def name_of(point: Point, tune: Tune, baseline: Candidate) -> str:
    """Return a point's name: what it changes, by the last word of each path; `shared` where it changes nothing."""
    axes = {path: (() if isinstance(axis, tuple) else axis.ends) for path, axis in tune.vary.items()}
    return named(point, axes, baseline) or SHARED


def change_size(point: Point, baseline: Candidate) -> tuple[int, float]:
    """Return how far a point is from the shared recipe: fields changed, then the sum of the logarithms of ratios."""
    ratios = ((value, value_at(baseline, path)) for path, value in point.items())
    far = [abs(log(new / old)) for new, old in ratios if _positive(new) and _positive(old)]
    return len(point), sum(far)


def value_at(candidate: Candidate, path: str) -> Any:
    """Return the value of a field, None where the candidate's options have no such field."""
    place: Any = candidate.model_dump()
    for part in absolute_path(path):
        place = place.get(part) if isinstance(place, dict) else None
    return place


def _distinct(points: Iterable[Point], baseline: Candidate, most: int | None = None) -> tuple[Point, ...]:
    """Return the points that lead to candidates of their own, the first ones where several lead to one."""
    found: dict[str, Point] = {}
    for point in points:
        if len(found) == most:
            break
        found.setdefault(canonical_text(canonical(apply(baseline, point))), point)
    return tuple(found.values())


def _changes(point: Mapping[str, Any], baseline: Candidate) -> Point:
    """Return a point without the values that the shared recipe has already."""
    moved: dict[str, JsonValue] = {}
    reached = baseline
    for path in sorted(point, key=lambda path: path.count(".")):  # an option before its own fields
        further = apply(baseline, {**moved, path: point[path]})
        if further != reached:
            moved[path], reached = level(point[path]), further
    return moved


def _drawn(tune: Tune, baseline: Candidate, draws: Draws) -> Iterator[Point]:
    """Yield points without end, from the sampler's seed and from nothing else."""
    extents = {path: Extent(*axis.ends, isinstance(axis, LogRange)) for path, axis in tune.ranges.items()}
    counts = {path: len(values) for path, values in tune.listed.items()}
    for numbers in draws(extents, counts, tune.sampler, tune.seed):
        drawn = {path: _rounded(numbers[path], axis, value_at(baseline, path)) for path, axis in tune.ranges.items()}
        drawn |= {path: values[int(numbers[path])] for path, values in tune.listed.items()}
        options = {path: value for path, value in drawn.items() if isinstance(value, Mapping | str)}
        yield _changes({path: value for path, value in drawn.items() if present(path, options, baseline)}, baseline)


def _rounded(number: float, axis: Range, usual: Any) -> float | int:
    """Return a drawn number as it is tried: in few digits, whole where the field counts something."""
    low, high = axis.ends
    short = min(high, max(low, float(f"{number:.{DIGITS}g}")))
    return round(short) if isinstance(usual, int) else short


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0
