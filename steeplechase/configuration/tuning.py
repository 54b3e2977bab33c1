"""`tune:`, recipe values at which every arm is tried before the comparison, with the seeds and tokens of the trials.

Every arm is tried at the same points, so that no arm gets better or more draws than another. Tuning is paired like
the comparison.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import log
from typing import Any, Literal

from pydantic import Field

from search_space.candidate import Candidate
from search_space.overrides import absolute_path, apply
from steeplechase.configuration.designs.axes import grid, named
from steeplechase.configuration.designs.axis_values import Axis
from steeplechase.configuration.designs.point import level
from steeplechase.configuration.seeds import SeedList
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.errors import Violation, listed_twice
from steeplechase.foundation.schema import Count, JsonValue, Schema


class Tune(Schema):
    """`tune: { vary: { recipe.peak_learning_rate: [1e-3, 3e-3, 1e-2] }, trials: 3, seeds: [101, 102] }`."""

    vary: Mapping[str, Axis] = Field(
        min_length=1,
        examples=[{"recipe.peak_learning_rate": [1e-4, 1e-3, 1e-2], "recipe.weight_decay": [0.0, 0.01, 0.1]}],
    )
    """By recipe field: the values to try, or a range of them. Every combination is a point."""
    trials: int = Field(ge=2, le=256, examples=[9])
    """Maximum number of points per arm; the shared recipe of all arms is always one of them."""
    seeds: SeedList = Field(min_length=1, examples=[[101, 102]])
    """Pretraining seeds of tuning, disjoint from those of the comparison."""
    tokens: Count | None = None
    """Training tokens of a tuning trial; by default as many as in the comparison."""
    metric: Literal["held_out_loss", "score"] = "held_out_loss"
    """The metric that selects a point: the mean over the seeds of the held-out loss, or of the fine-tuning score, for
    arms whose objectives have losses that are not comparable.
    """

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values of the metric are better."""
        return self.metric == "score"

    def own_violations(self) -> Iterator[Violation]:
        """Yield the violations that depend on this section only."""
        for path, axis in self.vary.items():
            if not axis:
                yield Violation(("vary", path), "no values to try; list at least one")
            for position, value in enumerate(axis):
                if value in axis[:position]:
                    yield Violation(("vary", path, position), f"{value} is listed twice on this axis")
        yield from listed_twice(self.seeds, "seeds")


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
