"""Panels of intervals, one per metric: a line for each named difference, with its numbers beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports.figures.matplotlib_style import Figure, new_figure, text_inches
from reports.figures.style import COLOURS, INK, QUIET
from reports.statistics.metrics import Metric
from steeplechase.analysis.difference import Difference

NAMES_INCHES, PLOT_INCHES, NUMBERS_INCHES, ROW_INCHES = 1.48, 3.85, 2.07, 0.3
NAME_POINTS, NUMBER_POINTS, NUMBERS_BEGIN, PAD_INCHES = 9.5, 8.5, 1.03, 0.15


@dataclass(frozen=True)
class Line:
    """A named difference, with the text of its numbers."""

    name: str
    difference: Difference
    numbers: str


@dataclass(frozen=True)
class Panel:
    """The differences on one metric, from top to bottom."""

    subject: str
    """What the differences are: `Δ score to the baseline`."""
    metric: Metric
    lines: tuple[Line, ...]

    @property
    def better(self) -> str:
        """Which direction is better, in words."""
        return f"{'lower' if self.metric.lower_is_better else 'higher'} is better"


def draw(panels: Sequence[Panel]) -> Figure:
    """Return the panels as one column."""
    heights = [len(panel.lines) + 1.6 for panel in panels]
    lines = [line for panel in panels for line in panel.lines]
    names = max(NAMES_INCHES, text_inches((line.name for line in lines), NAME_POINTS) + PAD_INCHES)
    numbers = (
        text_inches((line.numbers for line in lines), NUMBER_POINTS) + (NUMBERS_BEGIN - 1) * PLOT_INCHES + PAD_INCHES
    )
    width = names + PLOT_INCHES + max(NUMBERS_INCHES, numbers)
    figure = new_figure(width, ROW_INCHES * sum(heights) + 0.5)
    grid = figure.add_gridspec(
        len(panels),
        1,
        height_ratios=heights,
        left=names / width,
        right=(names + PLOT_INCHES) / width,
        top=1 - 0.28 / figure.get_figheight(),
        bottom=0.32 / figure.get_figheight(),
        hspace=2.6 * len(panels) / sum(heights),
    )
    for position, panel in enumerate(panels):
        _draw_panel(figure.add_subplot(grid[position]), panel)
    return figure


def _draw_panel(axes: Any, panel: Panel) -> None:
    axes.set_title(f"{panel.subject}, 95% interval ({panel.better})")
    axes.axvline(0, color=QUIET, linewidth=0.9)
    for row_height, line in zip(_row_heights(panel), panel.lines, strict=True):
        if line.difference.low is not None:
            _draw_interval(axes, row_height, panel.metric, line.difference)
    axes.spines["left"].set_visible(False)
    for row_height, line in zip(_row_heights(panel), panel.lines, strict=True):
        beside = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": NUMBER_POINTS}
        axes.text(NUMBERS_BEGIN, row_height, line.numbers, **beside)
    axes.set_yticks(list(_row_heights(panel)), [line.name for line in panel.lines], fontsize=NAME_POINTS)
    axes.set_ylim(0.4, len(panel.lines) + 0.6)
    axes.tick_params(axis="y", length=0)


def _row_heights(panel: Panel) -> range:
    return range(len(panel.lines), 0, -1)


def _draw_interval(axes: Any, height: int, metric: Metric, difference: Difference) -> None:
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
