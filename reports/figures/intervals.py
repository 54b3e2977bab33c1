"""Drawing of an interval of a difference, with colour and marker by its sign and significance."""

from typing import Any

from reports.figures.style import COLOURS, INK
from reports.statistics.metrics import Metric
from steeplechase.analysis.difference import Difference


def draw_interval(axes: Any, height: int, metric: Metric, difference: Difference) -> None:
    """Draw one interval: a square if better, a cross if worse, a hollow circle if it contains 0."""
    assert difference.delta is not None
    colour, marker, face = INK, "o", "none"
    if difference.excludes_zero:
        better = metric.better(difference.delta, 0.0)
        colour, marker = (COLOURS[1], "s") if better else (COLOURS[2], "X")
        face = colour
    axes.plot([difference.low, difference.high], [height, height], color=colour, linewidth=1.8)
    style = {"markersize": 6.5, "markerfacecolor": face, "markeredgecolor": colour, "markeredgewidth": 1.2}
    axes.plot([difference.delta], [height], marker=marker, **style)
