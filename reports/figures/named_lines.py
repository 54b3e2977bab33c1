"""A panel of lines whose names stand at its right, or below it on narrow pages, each with a sample of its style."""

from collections.abc import Callable, Sequence
from typing import Any

from reports.figures.matplotlib_style import Figure, draw_sample, new_figure, series_style, text_inches

PLOT_INCHES, LEFT_INCHES, HEIGHT_INCHES, NAME_POINTS, NAME_INCHES, SAMPLE_INCHES = 4.6, 0.75, 3.3, 9, 0.21, 0.45
NARROW_INCHES, NARROW_PLOT_INCHES = 3.9, 2.4


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
