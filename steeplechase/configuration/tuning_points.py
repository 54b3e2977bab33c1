"""Points of tuning: the shared recipe first, then every other combination of the values.

A point is a mapping of changes to an arm's recipe; it is empty for the shared recipe.
"""

from collections.abc import Iterable, Mapping
from math import log
from typing import Any

from search_space.candidate import Candidate
from search_space.overrides import absolute_path, apply
from steeplechase.configuration.designs.axes import grid, named
from steeplechase.configuration.designs.point import level
from steeplechase.configuration.tuning import Tune
from steeplechase.foundation.schema import JsonValue, canonical, canonical_text

SHARED = "shared"
AT = "@"

Point = Mapping[str, JsonValue]


def points_of(tune: Tune, baseline: Candidate) -> tuple[Point, ...]:
    """Return the shared recipe and every other combination of the values."""
    return _distinct(({}, *(_changes(point, baseline) for point in grid(tune.vary, baseline))), baseline)


def name_of(point: Point, tune: Tune, baseline: Candidate) -> str:
    """Return a point's name: its changes, by the last word of each path; `shared` for the shared recipe."""
    return named(point, dict.fromkeys(tune.vary, ()), baseline) or SHARED


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


def _distinct(points: Iterable[Point], baseline: Candidate) -> tuple[Point, ...]:
    """Return the points that give distinct candidates, the first of those that give the same one."""
    distinct: dict[str, Point] = {}
    for point in points:
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


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0
