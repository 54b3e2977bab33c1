"""Forest plot: differences to the baseline with intervals, a panel per metric, a line per arm."""

from dataclasses import dataclass
from typing import Any

from analysis.difference import Difference
from configuration.arm import BASELINE
from reports.figures.figure import ReportFigure
from reports.figures.intervals import draw_interval
from reports.figures.matplotlib_style import Figure, new_figure, text_inches
from reports.figures.style import QUIET
from reports.number_format import difference_text
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.table import Table, interval, table

NAMES_INCHES, PLOT_INCHES, NUMBERS_INCHES, ROW_INCHES = 1.48, 3.85, 2.07, 0.3
NARROW_INCHES, NARROW_ROW_INCHES = 3.9, 0.46
NAME_POINTS, NUMBER_POINTS, NUMBERS_BEGIN, PAD_INCHES = 9.5, 8.5, 1.03, 0.15


@dataclass(frozen=True)
class Panel:
    """One metric's differences to the baseline, by arm in the table's order."""

    metric: Metric
    decimals: int
    rows: tuple[tuple[str, Difference], ...]


@dataclass(frozen=True)
class Forest:
    """Differences to the baseline with their intervals, a panel per metric."""

    panels: tuple[Panel, ...]


def forest_of(evidence: Evidence) -> Forest | None:
    """Return the differences on every metric with an interval; None without one."""
    results, panels = evidence.results, []
    for metric in results.shown:
        rivals = [arm.name for arm in results.arms if arm.name != BASELINE]
        rows = [(printable(arm), results.effect(arm, metric).difference) for arm in rivals]
        if any(difference.low is not None for _, difference in rows):
            panels.append(Panel(metric, results.decimals(metric), tuple(rows)))
    return Forest(tuple(panels)) if panels else None


def forest_table(forest: Forest) -> Table:
    """Return the differences of every panel."""
    rows = (
        {"metric": panel.metric.name, "arm": arm, "pairs": difference.n, **interval(difference)}
        for panel in forest.panels
        for arm, difference in panel.rows
    )
    return table("forest", "metric arm pairs delta low high", rows)


def draw(forest: Forest) -> Figure:
    """Return the panels as one column."""
    panels = forest.panels
    heights = [len(panel.rows) + 1.6 for panel in panels]
    rows = [(arm, _label(difference, panel)) for panel in panels for arm, difference in panel.rows]
    names = max(NAMES_INCHES, text_inches((arm for arm, _ in rows), NAME_POINTS) + PAD_INCHES)
    numbers = (
        text_inches((label for _, label in rows), NUMBER_POINTS) + (NUMBERS_BEGIN - 1) * PLOT_INCHES + PAD_INCHES
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


def draw_narrow(forest: Forest) -> Figure:
    """Return the same for a narrow page, with each arm's name and numbers above its interval."""
    panels = forest.panels
    heights = [len(panel.rows) + 2.0 for panel in panels]
    figure = new_figure(NARROW_INCHES, NARROW_ROW_INCHES * sum(heights))
    top = figure.get_figheight()
    for panel, height in zip(panels, heights, strict=True):
        rows, top = NARROW_ROW_INCHES * len(panel.rows), top - NARROW_ROW_INCHES * height
        bottom = (top + 0.75 * NARROW_ROW_INCHES) / figure.get_figheight()
        axes = figure.add_axes((0.06, bottom, 0.88, rows / figure.get_figheight()))
        _draw_intervals(axes, panel)
        for row_height, (arm, difference) in zip(_row_heights(panel), panel.rows, strict=True):
            above: dict[str, Any] = {
                "transform": axes.get_yaxis_transform(),
                "va": "center",
                "fontsize": NUMBER_POINTS,
            }
            axes.plot(
                [0, 0], [row_height - 0.2, row_height + 0.2], color=QUIET, linewidth=0.9, zorder=0
            )  # not through the text
            axes.text(0.0, row_height + 0.42, arm, **above)
            axes.text(1.0, row_height + 0.42, _label(difference, panel), ha="right", **above)
        axes.set_title(f"Δ {panel.metric.title} to the baseline,\n95% interval ({_better(panel)} is better)", pad=8)
        axes.set_yticks([])
        axes.set_ylim(0.6, len(panel.rows) + 0.6)
    return figure


def _draw_panel(axes: Any, panel: Panel) -> None:
    axes.set_title(f"Δ {panel.metric.title} to the baseline, 95% interval ({_better(panel)} is better)")
    axes.axvline(0, color=QUIET, linewidth=0.9)
    _draw_intervals(axes, panel)
    for row_height, (_, difference) in zip(_row_heights(panel), panel.rows, strict=True):
        beside = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": NUMBER_POINTS}
        axes.text(NUMBERS_BEGIN, row_height, _label(difference, panel), **beside)
    axes.set_yticks(list(_row_heights(panel)), [arm for arm, _ in panel.rows], fontsize=NAME_POINTS)
    axes.set_ylim(0.4, len(panel.rows) + 0.6)
    axes.tick_params(axis="y", length=0)


def _draw_intervals(axes: Any, panel: Panel) -> None:
    for row_height, (_, difference) in zip(_row_heights(panel), panel.rows, strict=True):
        if difference.delta is not None and difference.low is not None and difference.high is not None:
            draw_interval(axes, row_height, panel.metric, difference)
    axes.spines["left"].set_visible(False)


def _row_heights(panel: Panel) -> range:
    return range(len(panel.rows), 0, -1)


def _better(panel: Panel) -> str:
    return "lower" if panel.metric.lower_is_better else "higher"


def _label(difference: Difference, panel: Panel) -> str:
    return f"{difference_text(difference, panel.decimals)}  n = {difference.n}"


FIGURE = ReportFigure(
    "forest", lambda forest: "Differences to the baseline", forest_of, forest_table, draw, draw_narrow
)
