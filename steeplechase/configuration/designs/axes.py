"""Axes: paths with their values. An axis that is a field of an option is present only with that option."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import Annotated, Any

from pydantic import Field

from search_space.candidate import Candidate
from search_space.overrides import InvalidOverride, absolute_path, applied, apply
from steeplechase.configuration.designs.axis_values import Axis
from steeplechase.configuration.designs.point import Changes, label
from steeplechase.foundation.errors import Violation

_EXAMPLES: list[Any] = [{"bottleneck_ratio": [1, 2], "heads": [2, 4]}]
Axes = Annotated[Mapping[str, Axis], Field(min_length=1, examples=_EXAMPLES)]

POINTS_TRIED = 1024
"""Points at which a value is tried before the file is read; each takes a millisecond or two."""
ARGUMENTS = ("architecture", "arguments")
"""The path of the arguments of a factory."""


def parent_of(path: str, axes: Axes) -> str | None:
    """Return the axis whose options have this field, None if there is none."""
    parent = path.rpartition(".")[0]
    while parent and parent not in axes:
        parent = parent.rpartition(".")[0]
    return parent or None


def grid_size(axes: Axes, baseline: Candidate) -> int:
    """Return the number of points of the grid in closed form."""
    return prod(_count(path, axes, baseline) for path in axes if parent_of(path, axes) is None)


def grid(axes: Axes, baseline: Candidate) -> Iterator[dict[str, Any]]:
    """Yield every point of the grid, the last axis fastest; a point has only the axes that are present, in order."""
    roots = [list(_branches(path, axes, baseline)) for path in axes if parent_of(path, axes) is None]
    for chosen in product(*roots):
        merged = {path: value for branch in chosen for path, value in branch.items()}
        yield {path: merged[path] for path in axes if path in merged}


def present(path: str, changes: Changes, baseline: Candidate) -> bool:
    """Return whether the baseline with the changes has the field, whatever rules they break."""
    parents = {other: value for other, value in changes.items() if path.startswith(f"{other}.")}
    try:
        changed = applied(baseline, parents)
    except InvalidOverride:
        return True  # reported at its own location
    if changed.architecture.is_counted and absolute_path(path)[:-1] == ARGUMENTS:
        return True  # a factory may have a default for what the baseline does not give
    document: Any = changed.model_dump()
    for part in absolute_path(path):
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True


def equals_baseline(baseline: Candidate, changes: Changes) -> bool:
    """Return whether the baseline with the changes is the baseline itself."""
    try:
        changed = applied(baseline, changes)
        return changed == baseline and apply(baseline, changes) == baseline  # only then are its rules asked
    except InvalidOverride:
        return False


def axis_violations(axes: Axes, baseline: Candidate) -> Iterator[Violation]:
    """Yield empty axes, duplicate values and values that are impossible at every point."""
    for path, values in axes.items():
        if not values:
            yield Violation(("vary", path), "no values to vary over; list at least one")
        for position, value in enumerate(values):
            if value in values[:position]:
                yield Violation(("vary", path, position), f"{label(value)} is listed twice on this axis")
            else:
                yield from impossible_at_every_point(axes, baseline, {path: value}, ("vary", path, position))


def impossible_at_every_point(
    axes: Axes, baseline: Candidate, value: Changes, location: tuple[str | int, ...]
) -> Iterator[Violation]:
    """Yield the reasons if a value is impossible with every option; sizes may still fit at another point."""
    (path,) = value
    parent = parent_of(path, axes)
    options: list[Changes] = [{parent: option} for option in axes[parent]] if parent else []
    yield from impossible_with_every_option(axes, baseline, options or [{}], value, location)


def impossible_with_every_option(
    axes: Mapping[str, Axis],
    baseline: Candidate,
    options: Sequence[Changes],
    value: Changes,
    location: tuple[str | int, ...],
) -> Iterator[Violation]:
    """Yield the reasons if a value is impossible with every option and with every value of the option's other fields.

    A value that only conflicts with the baseline's sizes is allowed, because it may fit at another point.
    """
    (path,) = value
    owner = path.rpartition(".")[0]
    beside = [other for other in axes if owner and other != path and other.rpartition(".")[0] == owner]
    fields: list[Changes] = [*({other: each} for other in beside for each in axes[other]), {}]
    reasons: tuple[Violation, ...] = ()
    points = product(fields, options)
    for field, option in islice(points, POINTS_TRIED):
        try:
            apply(baseline, {**option, **field, **value})
        except InvalidOverride as impossible:
            if impossible.only_in_combination:
                return
            reasons = impossible.violations
        else:
            return
    if next(points, None) is None:  # else each point reports its own
        yield from (Violation(location, reason.message) for reason in reasons)


def named(changes: Changes, axes: Axes, baseline: Candidate) -> str:
    """Return a point's name: its differences from the baseline, by the last word of each path if that is unambiguous.

    An axis with one value is left out, unless the name would be empty.
    """
    varying = {path: value for path, value in changes.items() if len(axes[path]) > 1}
    return _named_in_full(varying, axes, baseline) or _named_in_full(changes, axes, baseline)


def _named_in_full(changes: Changes, axes: Axes, baseline: Candidate) -> str:
    """Return a point's name with all its differences from the baseline."""
    leaves = [path.rpartition(".")[2] for path in axes]
    parts = []
    for path, value in changes.items():
        parents = {other: chosen for other, chosen in changes.items() if path.startswith(f"{other}.")}
        option_changed = not equals_baseline(baseline, parents) if parents else False
        if option_changed or not equals_baseline(baseline, {path: value}):
            leaf = path.rpartition(".")[2]
            parts.append(f"{leaf if leaves.count(leaf) == 1 else path}={label(value)}")
    return ",".join(parts)


def _children(path: str, axes: Axes) -> list[str]:
    return [other for other in axes if parent_of(other, axes) == path]


def _count(path: str, axes: Axes, baseline: Candidate) -> int:
    children = _children(path, axes)
    if not children:
        return len(axes[path])
    return sum(
        prod(_count(child, axes, baseline) for child in children if present(child, {path: value}, baseline))
        for value in axes[path]
    )


def _branches(path: str, axes: Axes, baseline: Candidate) -> Iterator[dict[str, Any]]:
    for value in axes[path]:
        change = {path: value}
        children = [
            list(_branches(child, axes, baseline))
            for child in _children(path, axes)
            if present(child, change, baseline)
        ]
        for chosen in product(*children):
            yield change | {name: inner for branch in chosen for name, inner in branch.items()}
