"""Differences to the baseline with their intervals, drawn: a panel per metric, a line per arm."""

from typing import Any

from analysis.effects import Difference
from reports.figures.figure_data import Forest, Panel
from reports.figures.matplotlib_style import Figure, new_figure, text_inches
from reports.figures.style import COLOURS, INK, QUIET
from reports.number_format import difference_text
from reports.statistics.metrics import Metric

NAMES_INCHES, PLOT_INCHES, NUMBERS_INCHES, ROW_INCHES = 1.48, 3.85, 2.07, 0.3
NARROW_INCHES, NARROW_ROW_INCHES = 3.9, 0.46
NAME_POINTS, NUMBER_POINTS, NUMBERS_BEGIN, PAD_INCHES = 9.5, 8.5, 1.03, 0.15


def draw(forest: Forest) -> Figure:
    """Return the panels, one above the other."""
    panels = forest.panels
    heights = [len(panel.rows) + 1.6 for panel in panels]
    rows = [(arm, _told(difference, panel)) for panel in panels for arm, difference in panel.rows]
    names = max(NAMES_INCHES, text_inches((arm for arm, _ in rows), NAME_POINTS) + PAD_INCHES)
    numbers = text_inches((told for _, told in rows), NUMBER_POINTS) + (NUMBERS_BEGIN - 1) * PLOT_INCHES + PAD_INCHES
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


def draw_narrow(forest: Forest) -> Figure:
    """Return the same with each arm's name and numbers above its interval."""
    panels = forest.panels
    heights = [len(panel.rows) + 2.0 for panel in panels]
    figure = new_figure(NARROW_INCHES, NARROW_ROW_INCHES * sum(heights))
    top = figure.get_figheight()
    for panel, height in zip(panels, heights, strict=True):
        rows, top = NARROW_ROW_INCHES * len(panel.rows), top - NARROW_ROW_INCHES * height
        bottom = (top + 0.75 * NARROW_ROW_INCHES) / figure.get_figheight()
        axes = figure.add_axes((0.06, bottom, 0.88, rows / figure.get_figheight()))
        _draw_intervals(axes, panel)
        for place, (arm, difference) in zip(_places(panel), panel.rows, strict=True):
            above: dict[str, Any] = {
                "transform": axes.get_yaxis_transform(),
                "va": "center",
                "fontsize": NUMBER_POINTS,
            }
            axes.plot([0, 0], [place - 0.2, place + 0.2], color=QUIET, linewidth=0.9, zorder=0)  # not through text
            axes.text(0.0, place + 0.42, arm, **above)
            axes.text(1.0, place + 0.42, _told(difference, panel), ha="right", **above)
        axes.set_title(f"Δ {panel.metric.title} to the baseline,\n95% interval ({_better(panel)} is better)", pad=8)
        axes.set_yticks([])
        axes.set_ylim(0.6, len(panel.rows) + 0.6)
    return figure


def _draw_panel(axes: Any, panel: Panel) -> None:
    axes.set_title(f"Δ {panel.metric.title} to the baseline, 95% interval ({_better(panel)} is better)")
    axes.axvline(0, color=QUIET, linewidth=0.9)
    _draw_intervals(axes, panel)
    for place, (_, difference) in zip(_places(panel), panel.rows, strict=True):
        beside = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": NUMBER_POINTS}
        axes.text(NUMBERS_BEGIN, place, _told(difference, panel), **beside)
    axes.set_yticks(list(_places(panel)), [arm for arm, _ in panel.rows], fontsize=NAME_POINTS)
    axes.set_ylim(0.4, len(panel.rows) + 0.6)
    axes.tick_params(axis="y", length=0)


def _draw_intervals(axes: Any, panel: Panel) -> None:
    for place, (_, difference) in zip(_places(panel), panel.rows, strict=True):
        if difference.delta is not None and difference.low is not None and difference.high is not None:
            draw_interval(axes, place, panel.metric, difference)
    axes.spines["left"].set_visible(False)


def _places(panel: Panel) -> range:
    return range(len(panel.rows), 0, -1)


def _better(panel: Panel) -> str:
    return "lower" if panel.metric.lower_is_better else "higher"


def _told(difference: Difference, panel: Panel) -> str:
    return f"{difference_text(difference, panel.decimals)}  n = {difference.pairs}"


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
