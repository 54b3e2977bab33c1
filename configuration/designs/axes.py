"""Axes: paths with the values they take. An axis that is a field of an option is there only where the option is."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Annotated, Any

from pydantic import Field

from configuration.designs.point import Changes, label
from foundation.errors import Violation
from search_space.candidate import Candidate
from search_space.overrides import InvalidOverride, absolute_path, apply

_EXAMPLES: list[Any] = [{"bottleneck_ratio": [1, 2], "heads": [2, 4]}]
Axes = Annotated[Mapping[str, tuple[Any, ...]], Field(min_length=1, examples=_EXAMPLES)]
SeveralAxes = Annotated[Mapping[str, tuple[Any, ...]], Field(min_length=2, examples=_EXAMPLES)]


def parent_of(path: str, axes: Axes) -> str | None:
    """Return the axis whose option has this one as a field, None where the axis stands by itself."""
    parent = path.rpartition(".")[0]
    while parent and parent not in axes:
        parent = parent.rpartition(".")[0]
    return parent or None


def grid_size(axes: Axes, baseline: Candidate) -> int:
    """Return the number of points of the grid without making any."""
    return prod(_count(path, axes, baseline) for path in axes if parent_of(path, axes) is None)


def grid(axes: Axes, baseline: Candidate) -> Iterator[dict[str, Any]]:
    """Yield every point of the grid, the last axis fastest; a point holds the axes that it has, in their order."""
    roots = [list(_branches(path, axes, baseline)) for path in axes if parent_of(path, axes) is None]
    for chosen in product(*roots):
        merged = {path: value for branch in chosen for path, value in branch.items()}
        yield {path: merged[path] for path in axes if path in merged}


def present(path: str, changes: Changes, baseline: Candidate) -> bool:
    """Return whether a candidate with the changes has the field; sizes that do not fit together do not matter."""
    parents = {other: value for other, value in changes.items() if path.startswith(f"{other}.")}
    try:
        document: Any = apply(baseline, parents).model_dump()
    except InvalidOverride:
        return True  # told where it is written
    for part in absolute_path(path):
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True


def same_as(baseline: Candidate, changes: Changes) -> bool:
    """Return whether the changes lead back to the baseline."""
    try:
        return apply(baseline, changes) == baseline
    except InvalidOverride:
        return False


def axis_violations(axes: Axes, baseline: Candidate, key: str = "vary") -> Iterator[Violation]:
    """Yield empty axes, repeated values and values that no point of the axes could take."""
    for path, values in axes.items():
        if not values:
            yield Violation((key, path), "no values to vary over; list at least one")
        for position, value in enumerate(values):
            if value in values[:position]:
                yield Violation((key, path, position), f"{label(value)} stands twice on this axis")
            else:
                yield from impossible_anywhere(axes, baseline, {path: value}, (key, path, position))


def impossible_anywhere(
    axes: Axes, baseline: Candidate, value: Changes, place: tuple[str | int, ...]
) -> Iterator[Violation]:
    """Yield why a value suits no option; one that only clashes with the baseline's sizes may suit another point."""
    (path,) = value
    parent = parent_of(path, axes)
    options: list[Changes] = [{parent: option} for option in axes[parent]] if parent else []
    yield from unsuited(baseline, options or [{}], value, place)


def unsuited(
    baseline: Candidate, options: Sequence[Changes], value: Changes, place: tuple[str | int, ...]
) -> Iterator[Violation]:
    """Yield why a value suits none of the options; sizes that clash with the baseline's may fit at another point."""
    reasons: tuple[Violation, ...] = ()
    for option in options:
        try:
            apply(baseline, {**option, **value})
        except InvalidOverride as impossible:
            if impossible.only_in_combination:
                return
            reasons = impossible.violations
        else:
            return
    yield from (Violation(place, reason.message) for reason in reasons)


def named(changes: Changes, axes: Axes, baseline: Candidate) -> str:
    """Return a point's name: what differs from the baseline, by the last word of its path where that is plain.

    An axis with one value is the same at every point, and is named only where nothing else would be.
    """
    several = {path: value for path, value in changes.items() if len(axes[path]) > 1}
    return named_in_full(several, axes, baseline) or named_in_full(changes, axes, baseline)


def named_in_full(changes: Changes, axes: Axes, baseline: Candidate) -> str:
    """Return a point's name by everything that differs from the baseline."""
    leaves = [path.rpartition(".")[2] for path in axes]
    parts = []
    for path, value in changes.items():
        parents = {other: chosen for other, chosen in changes.items() if path.startswith(f"{other}.")}
        moved = not same_as(baseline, parents) if parents else False
        if moved or not same_as(baseline, {path: value}):
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
        here = {path: value}
        below = [
            list(_branches(child, axes, baseline))
            for child in _children(path, axes)
            if present(child, here, baseline)
        ]
        for chosen in product(*below):
            yield here | {name: inner for branch in chosen for name, inner in branch.items()}
