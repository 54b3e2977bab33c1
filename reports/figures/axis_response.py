"""Figure of results along a numeric axis: paired differences with intervals, and the kernel size of full coverage."""

from dataclasses import dataclass
from math import log10
from typing import Any

from reports.figures.matplotlib_style import Figure, draw_sample, new_figure, series_style, text_inches
from reports.figures.style import COLOURS, QUIET
from reports.number_format import difference_text, fixed
from reports.statistics.metrics import Metric
from steeplechase.analysis.difference import Difference

LEFT_INCHES, PLOT_INCHES, KEY_INCHES, PANEL_INCHES = 0.74, 4.7, 2.56, 2.75
KEY_BEGINS, KEY_POINTS, PAD_INCHES = 1.08, 9, 0.1
NARROW_INCHES, NARROW_PANEL_INCHES, NARROW_KEY_INCHES = 3.9, 3.2, 0.2
NARROW_TITLE_INCHES, NARROW_AXIS_INCHES = 0.65, 0.5
NARROW_LEFT_INCHES, NARROW_TEXT_INCHES, NARROW_KEY_POINTS = 0.52, 2.95, 8
LOGARITHMIC_FROM = 40  # ratio of largest to smallest value from which the axis is logarithmic
CUT_LABEL_OFFSET = 9  # points, from the marker of a value outside the limits
COVER_LABEL_OFFSET, COVER_LABEL_POINTS = 2.0, 12  # above the plot, and from one label to the next
LEFT_PART = 0.4  # of the axis, in which such a label begins at its mark and elsewhere ends there
SIDESTEP = 0.006  # of the axis, between intervals of two lines at the same value
ROOM_AT_THE_CUT, ROOM = 0.3, 0.08
EDGE = 0.2
"""Shares of the range of the other points: room at the limits, and the position of the marker outside the limits."""
STEP = 0.08
"""Share of the axis between the markers of two lines outside the limits."""


@dataclass(frozen=True)
class AxisPoint:
    """One arm on the axis: its mean over n seeds, and its paired difference to the line's reference."""

    value: float
    arm: str
    n: int
    mean: float
    difference: Difference


@dataclass(frozen=True)
class AxisLine:
    """Arms that differ in the axis only, by increasing value."""

    label: str
    points: tuple[AxisPoint, ...]
    reference: float
    """The reference value: the same on every line of a panel, or each line's smallest."""
    cover: float | None = None
    """The kernel size 1 + (n - 1) / L from which L layers cover a whole sequence of n tokens."""


@dataclass(frozen=True)
class AxisPanel:
    """The lines on one metric."""

    metric: Metric
    decimals: int
    lines: tuple[AxisLine, ...]


@dataclass(frozen=True)
class AxisResponse:
    """The headline metrics along one axis."""

    axis: str
    """The axis for display."""
    panels: tuple[AxisPanel, ...]


@dataclass(frozen=True)
class Cut:
    """A value on the axis whose points lie outside the limits, with the height of their labels."""

    value: float
    above: bool
    limits: tuple[float, float]
    edge: float


def draw(curve: AxisResponse) -> Figure:
    """Return a panel per metric, one above the other, on one axis."""
    panels = curve.panels
    marks = max(map(_marks_inches, panels))
    height = (PANEL_INCHES + marks) * len(panels) + 0.55
    texts = (text for panel in panels for line in panel.lines for text in _line_texts(line, panel, curve.axis))
    key = text_inches(texts, KEY_POINTS) + (KEY_BEGINS - 1) * PLOT_INCHES + PAD_INCHES
    width = LEFT_INCHES + PLOT_INCHES + max(KEY_INCHES, key)
    figure = new_figure(width, height)
    left, right = LEFT_INCHES / width, (LEFT_INCHES + PLOT_INCHES) / width
    margins = {"left": left, "right": right, "top": 1 - (0.45 + marks) / height, "bottom": 0.48 / height}
    grid = figure.add_gridspec(len(panels), 1, hspace=0.34, **margins)
    axes = None
    for position, panel in enumerate(panels):
        axes = figure.add_subplot(grid[position], sharex=axes)
        _draw_panel(axes, panel, curve)
        axes.tick_params(labelbottom=position == len(panels) - 1)
    assert axes is not None
    axes.set_xlabel(curve.axis)
    return figure


def draw_narrow(curve: AxisResponse) -> Figure:
    """Return the same for a narrow page, with the lines named below each panel."""
    keys = [[_narrow_key(line, panel, curve.axis) for line in panel.lines] for panel in curve.panels]
    key_heights = [NARROW_KEY_INCHES * sum(map(len, key)) for key in keys]
    marks = [_marks_inches(panel) for panel in curve.panels]
    blocks = [NARROW_PANEL_INCHES + height + above for height, above in zip(key_heights, marks, strict=True)]
    figure = new_figure(NARROW_INCHES, sum(blocks))
    left, top = NARROW_LEFT_INCHES / NARROW_INCHES, sum(blocks)
    for panel, key, key_height, above, block in zip(curve.panels, keys, key_heights, marks, blocks, strict=True):
        below, top = key_height + NARROW_AXIS_INCHES, top - block
        plot = block - below - NARROW_TITLE_INCHES - above
        axes = figure.add_axes((left, (top + below) / sum(blocks), 0.97 - left, plot / sum(blocks)))
        _draw_values(axes, panel, curve)
        axes.set_title(_title(panel, curve.axis).replace(", 95%", ",\n95%"), pad=_title_pad(panel))
        axes.set_xlabel(curve.axis, labelpad=1)
        _draw_narrow_key(axes, key, plot)
    return figure


def _narrow_key(line: AxisLine, panel: AxisPanel, axis: str) -> tuple[str, ...]:
    """Return a line's name and reference value in one row of text, or in two where one is too wide for the page."""
    texts = _line_texts(line, panel, axis)
    together = "; ".join(texts)
    return (together,) if text_inches([together], NARROW_KEY_POINTS) <= NARROW_TEXT_INCHES else texts


def _draw_narrow_key(axes: Any, key: list[tuple[str, ...]], plot_inches: float) -> None:
    below = NARROW_AXIS_INCHES
    for position, rows in enumerate(key):
        draw_sample(axes, position, (0.0, 0.08), -below / plot_inches)
        colour = series_style(position)["color"]
        for row in rows:
            style = {"color": colour, "va": "center", "fontsize": NARROW_KEY_POINTS, "clip_on": False}
            axes.text(0.11, -below / plot_inches, row, transform=axes.transAxes, **style)
            below += NARROW_KEY_INCHES


def _draw_panel(axes: Any, panel: AxisPanel, curve: AxisResponse) -> None:
    _draw_values(axes, panel, curve)
    axes.set_title(_title(panel, curve.axis), pad=_title_pad(panel))
    _draw_key(axes, panel, curve.axis)


def _title(panel: AxisPanel, axis: str) -> str:
    better = "lower" if panel.metric.lower_is_better else "higher"
    references = {line.reference for line in panel.lines}
    compared = f"{axis} {min(references):g}" if len(references) == 1 else f"each line's smallest {axis}"
    return f"Δ {panel.metric.title} to {compared}, 95% interval ({better} is better)"


def _title_pad(panel: AxisPanel) -> int:
    """Return the points between plot and title, with room for the labels of full coverage."""
    return 6 + COVER_LABEL_POINTS * len(covers_of(panel))


def _marks_inches(panel: AxisPanel) -> float:
    """Return the height of the second and further labels of full coverage."""
    return COVER_LABEL_POINTS / 72 * max(0, len(covers_of(panel)) - 1)


def covers_of(panel: AxisPanel) -> dict[float, int]:
    """Return the kernel sizes of full coverage, each with the position of the first line that it is of."""
    positions: dict[float, int] = {}
    for position, line in enumerate(panel.lines):
        if line.cover is not None:
            positions.setdefault(line.cover, position)
    return positions


def _draw_values(axes: Any, panel: AxisPanel, curve: AxisResponse) -> None:
    values = sorted({point.value for line in panel.lines for point in line.points})
    if len(values) > 2 and values[0] > 0 and values[-1] / values[0] > LOGARITHMIC_FROM:
        axes.set_xscale("log")
    covers = covers_of(panel)
    reach = max([values[-1], *(cover for cover in covers if cover <= 1.35 * values[-1])])
    margin = 0.03 * (reach - values[0])
    if axes.get_xscale() == "linear":
        axes.set_xlim(values[0] - margin, reach + margin)
    axes.set_xticks(_ticks(values), [f"{value:g}" for value in _ticks(values)])
    axes.minorticks_off()
    axes.axhline(0, color=QUIET, linewidth=0.9, zorder=0)
    cut = cut_of(panel)
    for position, line in enumerate(panel.lines):
        shift = (position - (len(panel.lines) - 1) / 2) * SIDESTEP * (values[-1] - values[0])
        _draw_line(axes, line, position, shift if axes.get_xscale() == "linear" else 0.0, cut)
    for row, (cover, position) in enumerate(covers.items()):
        _draw_cover(axes, cover, position, row, (values[0], reach + margin))
    if cut is not None:
        _draw_cut(axes, panel, cut, (values[0] + values[-1]) / 2)
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _draw_line(axes: Any, line: AxisLine, position: int, shift: float, cut: Cut | None) -> None:
    style = series_style(position)
    deltas = [point.difference.delta or 0.0 for point in line.points]
    x_values = [point.value + shift for point in line.points]
    axes.plot(x_values, deltas, **style)
    for x, delta, point in zip(x_values, deltas, line.points, strict=True):
        low, high = point.difference.low, point.difference.high
        if low is not None and high is not None and (cut is None or point.value != cut.value):
            reach = [[delta - low], [high - delta]]
            axes.errorbar([x], [delta], yerr=reach, color=style["color"], capsize=2.5, elinewidth=1.1, fmt="none")


def _draw_cut(axes: Any, panel: AxisPanel, cut: Cut, middle: float) -> None:
    """Set the limits to the other points, and write the values of the points outside them as text."""
    axes.set_ylim(*cut.limits)
    for position, line in enumerate(panel.lines):
        for point in (point for point in line.points if point.value == cut.value):
            colour, height = (
                COLOURS[position % len(COLOURS)],
                cut.edge + (-STEP if cut.above else STEP) * position * (cut.limits[1] - cut.limits[0]),
            )
            label = difference_text(point.difference, panel.decimals)
            offset, alignment = (CUT_LABEL_OFFSET, "left") if point.value <= middle else (-CUT_LABEL_OFFSET, "right")
            axes.plot([point.value], [height], marker="^" if cut.above else "v", color=colour, markersize=5)
            text = axes.annotate(
                label, (point.value, height), (offset, 0), textcoords="offset points", va="center", ha=alignment
            )
            text.set(color=colour, fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})


def _draw_cover(axes: Any, cover: float, position: int, row: int, ends: tuple[float, float]) -> None:
    """Mark the kernel size from which the receptive field of all layers covers the whole sequence."""
    colour = COLOURS[position % len(COLOURS)]
    label, at = f"full receptive field from {cover:.3g}", cover
    if cover > ends[1]:
        label, at = f"{label} →", ends[1]
    else:
        axes.axvline(cover, color=colour, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
    side = "left" if at < ends[0] + LEFT_PART * (ends[1] - ends[0]) else "right"
    above = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "ha": side, "va": "bottom"}
    offset = COVER_LABEL_OFFSET + COVER_LABEL_POINTS * row
    axes.annotate(label, (at, 1.0), (0, offset), color=colour, fontsize=8, **above)


def _draw_key(axes: Any, panel: AxisPanel, axis: str) -> None:
    """Name the lines at the right, each with its number of seeds and its reference value."""
    for position, line in enumerate(panel.lines):
        height = 0.93 - 0.23 * position
        draw_sample(axes, position, (1.025, 1.065), height)
        outside = {"transform": axes.transAxes, "color": series_style(position)["color"], "clip_on": False}
        name, start = _line_texts(line, panel, axis)
        axes.text(KEY_BEGINS, height, name, va="center", fontsize=KEY_POINTS, **outside)
        axes.text(KEY_BEGINS, height - 0.095, start, va="center", fontsize=8, **outside)


def _line_texts(line: AxisLine, panel: AxisPanel, axis: str) -> tuple[str, str]:
    """Return a line's name with its number of seeds, and the mean at its reference value."""
    start = next(point for point in line.points if point.value == line.reference)
    seeds = sorted({point.n for point in line.points})
    n = f"n = {seeds[0]}" if len(seeds) == 1 else f"n = {seeds[0]} to {seeds[-1]}"
    reference_text = f"{axis} {start.value:g}: {fixed(start.mean, panel.decimals)}"
    return f"{line.label}, {n}" if line.label else n, reference_text


def _ticks(values: list[float]) -> list[float]:
    """Return the values as ticks, without those whose labels would overlap."""
    ticks: list[float] = []
    span = values[-1] - values[0]
    for value in values:
        wide = 0.028 + 0.012 * round(log10(max(1.0, abs(value))))
        if not ticks or value - ticks[-1] >= wide * span:
            ticks.append(value)
    return ticks


def cut_of(panel: AxisPanel) -> Cut | None:
    """Return the cut; None if the farthest value is no farther from the others than their own range."""
    points = [point for line in panel.lines for point in line.points]
    farthest = max(points, key=lambda point: abs(_delta(point)))
    others = [point for point in points if point.value != farthest.value]
    low = min(0.0, *(_delta(point) if (end := point.difference.low) is None else end for point in others))
    high = max(0.0, *(_delta(point) if (end := point.difference.high) is None else end for point in others))
    reach = high - low
    far_deltas = [_delta(point) for point in points if point.value == farthest.value]
    if reach and min(far_deltas) - high > reach:
        return Cut(farthest.value, True, (low - ROOM * reach, high + ROOM_AT_THE_CUT * reach), high + EDGE * reach)
    if reach and low - max(far_deltas) > reach:
        return Cut(farthest.value, False, (low - ROOM_AT_THE_CUT * reach, high + ROOM * reach), low - EDGE * reach)
    return None


def _delta(point: AxisPoint) -> float:
    return point.difference.delta or 0.0
