"""Panels of lines, one above the other, whose names stand at the right, each with a sample of its style."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from reports.figures.matplotlib_style import Figure, draw_sample, new_figure, series_style, text_inches
from reports.figures.style import QUIET

PLOT_INCHES, LEFT_INCHES, HEIGHT_INCHES, NAME_POINTS, NAME_INCHES, SAMPLE_INCHES = 4.6, 0.75, 3.3, 9, 0.21, 0.45
BELOW_INCHES, AXES_INCHES = 0.5, 2.44
TICK_INCHES = 0.3  # between two labels
LOGARITHMIC: Mapping[str, Any] = {"value": "log", "base": 2}


class Point(NamedTuple):
    """A value with its interval; None where there is none."""

    x: float
    value: float | None
    low: float | None
    high: float | None


class NamedLine(NamedTuple):
    """A line with its name."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class LinePanel:
    """Lines with intervals over one axis of numbers."""

    lines: Sequence[NamedLine]
    title: str
    spread: str
    """What follows the title where there are intervals."""
    label: str
    """Of the horizontal axis."""
    tick: Callable[[float], str]
    scale: Mapping[str, Any]
    """Settings of the horizontal axis."""
    first_style: int = 0
    level: float | None = None
    """Where there is a horizontal line."""

    def draw(self, axes: Any) -> None:
        """Draw the lines."""
        if self.level is not None:
            axes.axhline(self.level, color=QUIET, linewidth=0.9, zorder=0)
        for position, line in enumerate(self.lines, self.first_style):
            style = series_style(position)
            axes.plot([point.x for point in line.points], [point.value for point in line.points], **style)
            for point in line.points:
                if point.low is not None:
                    axes.vlines([point.x], point.low, point.high, color=style["color"], linewidth=1.1)
        points = [point for line in self.lines for point in line.points]
        axes.set_xscale(**self.scale)
        ticks = _apart(axes, sorted({point.x for point in points}))
        axes.set_xticks(ticks, [self.tick(x) for x in ticks])
        axes.minorticks_off()
        has_intervals = any(point.low is not None for point in points)
        axes.set_title(f"{self.title}{self.spread}" if has_intervals else self.title, fontsize=9.5)
        axes.set_xlabel(self.label)
        axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _apart(axes: Any, values: Sequence[float]) -> list[float]:
    """Return the values whose labels do not overlap."""
    axes.autoscale_view()
    kept: list[float] = []
    for value in values:
        inches = [axes.transData.transform((at, 0))[0] / axes.figure.dpi for at in (*kept[-1:], value)]
        kept += [value] if inches[-1] - inches[0] >= TICK_INCHES or not kept else []
    return kept


def figure_of(panels: Sequence[LinePanel]) -> Figure:
    """Return the panels, the first at the top."""
    return named_panels([(each.draw, [line.name for line in each.lines], each.first_style) for each in panels])


def named_panels(panels: Sequence[tuple[Callable[[Any], None], Sequence[str], int]]) -> Figure:
    """Return panels, each a drawing, the names of its lines and the first of their consecutive styles."""
    width = LEFT_INCHES + PLOT_INCHES + SAMPLE_INCHES + 0.2
    width += text_inches((name for _, names, _ in panels for name in names), NAME_POINTS)
    height = HEIGHT_INCHES * len(panels)
    figure = new_figure(width, height)
    for row, (draw, names, first_style) in enumerate(reversed(panels)):
        bottom = (row * HEIGHT_INCHES + BELOW_INCHES) / height
        axes = figure.add_axes((LEFT_INCHES / width, bottom, PLOT_INCHES / width, AXES_INCHES / height))
        draw(axes)
        for place, name in enumerate(names):
            at = 1 - (place + 0.5) * NAME_INCHES / AXES_INCHES
            draw_sample(axes, first_style + place, (1 + 0.1 / PLOT_INCHES, 1 + 0.4 / PLOT_INCHES), at)
            outside = {"transform": axes.transAxes, "color": series_style(first_style + place)["color"]}
            axes.text(1 + SAMPLE_INCHES / PLOT_INCHES, at, name, va="center", fontsize=NAME_POINTS, **outside)
    return figure
