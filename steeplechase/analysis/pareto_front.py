"""The Pareto front of points with several objectives."""

from collections.abc import Sequence


def front(points: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Return the indices of the non-dominated points; smaller is better on every axis.

    A point is dominated if another one is at least as good on every axis and better on one. What dominates a point
    comes before it in sorted order, and is on the front or dominated by a point of it.
    """
    found: list[tuple[float, ...]] = []
    for point in sorted({tuple(point) for point in points}):
        if not any(all(a <= b for a, b in zip(rival, point, strict=True)) for rival in found):
            found.append(point)
    on_front = set(found)
    return tuple(index for index, point in enumerate(points) if tuple(point) in on_front)
