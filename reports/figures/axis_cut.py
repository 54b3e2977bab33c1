"""Where one value of an axis lies so far from all others that they would look flat: where to end the drawing."""

from dataclasses import dataclass

from reports.figures.axis_curve import AxisPanel, AxisPoint

ROOM_AT_THE_CUT, ROOM = 0.3, 0.08
EDGE = 0.2
"""Shares of what the others reach: what is drawn beyond them, and where the far point's sign stands."""


@dataclass(frozen=True)
class Cut:
    """The value whose points lie outside the limits, and the height at which they are told."""

    value: float
    above: bool
    limits: tuple[float, float]
    edge: float


def cut_of(panel: AxisPanel) -> Cut | None:
    """Return the cut, None where the farthest value is no farther from the others than they reach themselves."""
    points = [point for line in panel.lines for point in line.points]
    farthest = max(points, key=lambda point: abs(_delta(point)))
    others = [point for point in points if point.value != farthest.value]
    low = min(0.0, *(_delta(point) if (end := point.difference.low) is None else end for point in others))
    high = max(0.0, *(_delta(point) if (end := point.difference.high) is None else end for point in others))
    reach = high - low
    off = [_delta(point) for point in points if point.value == farthest.value]
    if reach and min(off) - high > reach:
        return Cut(farthest.value, True, (low - ROOM * reach, high + ROOM_AT_THE_CUT * reach), high + EDGE * reach)
    if reach and low - max(off) > reach:
        return Cut(farthest.value, False, (low - ROOM_AT_THE_CUT * reach, high + ROOM * reach), low - EDGE * reach)
    return None


def _delta(point: AxisPoint) -> float:
    return point.difference.delta or 0.0
