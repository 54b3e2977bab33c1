"""Points of tuning: the shared recipe first, then the full grid if it is small enough, else draws of a sampler.

A point is a mapping of changes to an arm's recipe; it is empty for the shared recipe.
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
"""Significant digits of a drawn value, so that a table shows the exact value."""
DRAWS_PER_POINT = 100
"""Maximum number of draws per point; a draw that repeats a point, or is impossible for an arm, is discarded."""

Point = Mapping[str, JsonValue]
Possible = Callable[[Point], bool]


@dataclass(frozen=True)
class Extent:
    """A range from which numbers are drawn."""

    low: float
    high: float
    log: bool
    """Whether draws are uniform in the logarithm."""


Draws = Callable[[Mapping[str, Extent], Mapping[str, int], Literal["qmc", "random"], int], Iterator[dict[str, float]]]
"""From ranges, counts of listed values, a sampler's name and a seed to an infinite sequence of points."""


def grid_points(tune: Tune, baseline: Candidate) -> tuple[Point, ...] | None:
    """Return the shared recipe and every other combination of the listed values; None if points must be drawn."""
    if tune.ranges or grid_size(tune.listed, baseline) > tune.trials:
        return None
    combinations = (_changes(point, baseline) for point in grid(tune.listed, baseline))
    points = _distinct(({}, *combinations), baseline)
    return points if len(points) <= tune.trials else None


def points_of(tune: Tune, baseline: Candidate, possible: Possible, draws: Draws) -> tuple[Point, ...]:
    """Return the points; fewer than `trials` only if the space has no more. `draws` is the sampler."""
    points_of_grid = grid_points(tune, baseline)
    if points_of_grid is not None:
        return points_of_grid
    drawn = islice(_drawn(tune, baseline, draws), DRAWS_PER_POINT * tune.trials)
    return _distinct(chain([{}], filter(possible, drawn)), baseline, tune.trials)


def point_count(tune: Tune, baseline: Candidate) -> int:
    """Return the number of points per arm, without drawing any."""
    points_of_grid = grid_points(tune, baseline)
    return tune.trials if points_of_grid is None else len(points_of_grid)


def name_of(point: Point, tune: Tune, baseline: Candidate) -> str:
    """Return a point's name: its changes, by the last word of each path; `shared` for the shared recipe."""
    axes = {path: (() if isinstance(axis, tuple) else axis.ends) for path, axis in tune.vary.items()}
    return named(point, axes, baseline) or SHARED


def change_size(point: Point, baseline: Candidate) -> tuple[int, float]:
    """Return a point's distance from the shared recipe: changed fields, then the sum of absolute log ratios."""
    pairs = ((value, value_at(baseline, path)) for path, value in point.items())
    log_ratios = [abs(log(new / old)) for new, old in pairs if _positive(new) and _positive(old)]
    return len(point), sum(log_ratios)


def value_at(candidate: Candidate, path: str) -> Any:
    """Return the value of a field, None if the candidate's options have no such field."""
    value: Any = candidate.model_dump()
    for part in absolute_path(path):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _distinct(points: Iterable[Point], baseline: Candidate, most: int | None = None) -> tuple[Point, ...]:
    """Return the points that give distinct candidates, the first of those that give the same one."""
    distinct: dict[str, Point] = {}
    for point in points:
        if len(distinct) == most:
            break
        distinct.setdefault(canonical_text(canonical(apply(baseline, point))), point)
    return tuple(distinct.values())


def _changes(point: Mapping[str, Any], baseline: Candidate) -> Point:
    """Return a point without the values that equal the shared recipe's."""
    changes: dict[str, JsonValue] = {}
    candidate = baseline
    for path in sorted(point, key=lambda path: path.count(".")):  # an option before its own fields
        changed = apply(baseline, {**changes, path: point[path]})
        if changed != candidate:
            changes[path], candidate = level(point[path]), changed
    return changes


def _drawn(tune: Tune, baseline: Candidate, draws: Draws) -> Iterator[Point]:
    """Yield an infinite sequence of points, determined by the sampler's seed."""
    extents = {path: Extent(*axis.ends, isinstance(axis, LogRange)) for path, axis in tune.ranges.items()}
    counts = {path: len(values) for path, values in tune.listed.items()}
    for numbers in draws(extents, counts, tune.sampler, tune.seed):
        drawn = {path: _rounded(numbers[path], axis, value_at(baseline, path)) for path, axis in tune.ranges.items()}
        drawn |= {path: values[int(numbers[path])] for path, values in tune.listed.items()}
        options = {path: value for path, value in drawn.items() if isinstance(value, Mapping | str)}
        yield _changes({path: value for path, value in drawn.items() if present(path, options, baseline)}, baseline)


def _rounded(number: float, axis: Range, baseline_value: Any) -> float | int:
    """Return a drawn number rounded to `DIGITS`, or to an integer if the baseline's value is one."""
    low, high = axis.ends
    rounded = min(high, max(low, float(f"{number:.{DIGITS}g}")))
    return round(rounded) if isinstance(baseline_value, int) else rounded


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0
