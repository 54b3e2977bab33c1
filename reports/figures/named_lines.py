"""A panel of lines whose names stand at its right, or below it on narrow pages, each with a sample of its style."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from reports.figures.matplotlib_style import Figure, draw_sample, new_figure, series_style, text_inches
from reports.figures.style import QUIET

PLOT_INCHES, LEFT_INCHES, HEIGHT_INCHES, NAME_POINTS, NAME_INCHES, SAMPLE_INCHES = 4.6, 0.75, 3.3, 9, 0.21, 0.45
NARROW_INCHES, NARROW_PLOT_INCHES = 3.9, 2.4


class Point(NamedTuple):
    """A value with its interval; None where there is none."""

    x: int
    value: float | None
    low: float | None
    high: float | None


class NamedLine(NamedTuple):
    """A line with its name."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class LinePanel:
    """Lines with intervals on a logarithmic axis of counts."""

    lines: Sequence[NamedLine]
    title: str
    spread: str
    """What follows the title where there are intervals."""
    label: str
    """Of the horizontal axis."""
    scale: Mapping[str, Any]
    """Settings of the horizontal axis, to base 2."""
    tick: Callable[[int], str]
    first_style: int = 0
    zero: bool = False
    """Whether there is a line at 0."""

    def wide(self) -> Figure:
        """Return the panel with its names at the right."""
        return wide_panel(
            partial(self._draw, spread=self.spread), [line.name for line in self.lines], self.first_style
        )

    def narrow(self) -> Figure:
        """Return the panel with its names below it, and its title on two lines."""
        spread = self.spread.replace(" ", "\n", 1)
        return narrow_panel(partial(self._draw, spread=spread), [line.name for line in self.lines], self.first_style)

    def _draw(self, axes: Any, spread: str) -> None:
        if self.zero:
            axes.axhline(0, color=QUIET, linewidth=0.9, zorder=0)
        for position, line in enumerate(self.lines, self.first_style):
            style = series_style(position)
            axes.plot([point.x for point in line.points], [point.value for point in line.points], **style)
            for point in line.points:
                if point.low is not None:
                    axes.vlines([point.x], point.low, point.high, color=style["color"], linewidth=1.1)
        points = [point for line in self.lines for point in line.points]
        ticks = sorted({point.x for point in points})
        axes.set_xscale(base=2, **self.scale)
        axes.set_xticks(ticks, [self.tick(x) for x in ticks])
        axes.minorticks_off()
        has_intervals = any(point.low is not None for point in points)
        axes.set_title(f"{self.title}{spread}" if has_intervals else self.title, fontsize=9.5)
        axes.set_xlabel(self.label)
        axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def wide_panel(draw_panel: Callable[[Any], None], names: Sequence[str], first_style: int = 0) -> Figure:
    """Return the panel with its names at the right; the lines have consecutive styles from the first one."""
    width = LEFT_INCHES + PLOT_INCHES + SAMPLE_INCHES + 0.2 + text_inches(names, NAME_POINTS)
    axes = new_figure(width, HEIGHT_INCHES).add_axes((LEFT_INCHES / width, 0.15, PLOT_INCHES / width, 0.74))
    draw_panel(axes)
    for row, name in enumerate(names):
        height = 1 - (row + 0.5) * NAME_INCHES / (0.74 * HEIGHT_INCHES)
        draw_sample(axes, first_style + row, (1 + 0.1 / PLOT_INCHES, 1 + 0.4 / PLOT_INCHES), height)
        _write(axes, first_style + row, (1 + SAMPLE_INCHES / PLOT_INCHES, height), name)
    return axes.figure


def narrow_panel(draw_panel: Callable[[Any], None], names: Sequence[str], first_style: int = 0) -> Figure:
    """Return the panel with its names below it."""
    below = NAME_INCHES * len(names)
    height = 0.5 + NARROW_PLOT_INCHES + 0.6 + below
    figure = new_figure(NARROW_INCHES, height)
    axes = figure.add_axes((0.16, (below + 0.65) / height, 0.81, NARROW_PLOT_INCHES / height))
    draw_panel(axes)
    for row, name in enumerate(names):
        share = -(0.6 + (row + 0.5) * NAME_INCHES) / NARROW_PLOT_INCHES
        draw_sample(axes, first_style + row, (0.0, 0.08), share)
        _write(axes, first_style + row, (0.11, share), name)
    return figure


def _write(axes: Any, style: int, place: tuple[float, float], name: str) -> None:
    outside = {"transform": axes.transAxes, "color": series_style(style)["color"]}
    axes.text(*place, name, va="center", fontsize=NAME_POINTS, **outside)
