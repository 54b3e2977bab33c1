"""Intervals of a difference as figures show them: better, worse and undecided differ in colour and in marker."""

from typing import Any

from analysis.effects import Difference
from reports.figures.style import COLOURS, INK
from reports.statistics.metrics import Metric


def draw_interval(axes: Any, place: int, metric: Metric, difference: Difference) -> None:
    """Draw one interval: a square where better, a cross where worse, a hollow circle where it holds 0."""
    assert difference.delta is not None
    colour, marker, face = INK, "o", "none"
    if difference.told_apart:
        better = metric.better(difference.delta, 0.0)
        colour, marker = (COLOURS[1], "s") if better else (COLOURS[2], "X")
        face = colour
    axes.plot([difference.low, difference.high], [place, place], color=colour, linewidth=1.8)
    look = {"markersize": 6.5, "markerfacecolor": face, "markeredgecolor": colour, "markeredgewidth": 1.2}
    axes.plot([difference.delta], [place], marker=marker, **look)
