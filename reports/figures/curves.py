"""Learning curves, drawn: held-out loss by tokens, hurdles, where arms stopped, and what is forecast, dashed."""

from collections.abc import Sequence
from typing import Any

from reports.figures.figure_data import Curves, Line
from reports.figures.matplotlib_style import Figure, draw_sample, look, new_figure, spread, text_inches
from reports.figures.style import COLOURS, INK, LINE_STYLES, MARKERS, QUIET
from reports.number_format import short

LEFT_INCHES, PLOT_INCHES, NAMES_INCHES, HEIGHT_INCHES = 0.63, 4.96, 1.81, 4.0
NAME_POINTS, NAMES_BEGIN, PAD_INCHES = 9, 1.05, 0.1
NARROW_INCHES, NARROW_HEIGHT_INCHES, NAME_INCHES, AXIS_INCHES = 3.9, 3.4, 0.2, 0.55
TITLE, BAND = "Held-out loss (nats): mean over seeds", "band from lowest to highest seed"
LABELLED_LINES = len(COLOURS)
LABEL_GAP = 0.052  # of the axes' height, so that labels never overlap


def draw(curves: Curves) -> Figure:
    """Return a line per arm; of many arms the best are named and the others grey."""
    named, rest = labelled(curves.lines)
    end = max(line.tokens[-1] for line in curves.lines)
    begin = (NAMES_BEGIN - 1) * PLOT_INCHES + PAD_INCHES
    names = max(NAMES_INCHES, begin + text_inches((_name(line, end) for line in named), NAME_POINTS))
    width = LEFT_INCHES + PLOT_INCHES + names
    figure = new_figure(width, HEIGHT_INCHES)
    axes = figure.add_axes((LEFT_INCHES / width, 0.13, PLOT_INCHES / width, 0.78))
    _draw_all(axes, curves, named, rest)
    axes.set_title(f"{TITLE}, {BAND}")
    _label_ends(axes, named, end)
    return figure


def draw_narrow(curves: Curves) -> Figure:
    """Return the same with the names below the plot."""
    named, rest = labelled(curves.lines)
    height = NARROW_HEIGHT_INCHES + NAME_INCHES * len(named)
    figure = new_figure(NARROW_INCHES, height)
    left, below = 0.45 / NARROW_INCHES, 0.55 + NAME_INCHES * len(named)
    axes = figure.add_axes((left, below / height, 0.98 - left, 1 - (below + 0.42) / height))
    _draw_all(axes, curves, named, rest)
    axes.set_title(f"{TITLE},\n{BAND}")
    axes.locator_params(axis="x", nbins=6) if axes.get_xscale() == "linear" else None
    _label_below(axes, named, max(line.tokens[-1] for line in curves.lines), height - below - 0.42)
    return figure


def _draw_all(axes: Any, curves: Curves, named: Sequence[Line], rest: Sequence[Line]) -> None:
    for line in rest:
        axes.plot(line.tokens, line.mean, color=QUIET, linewidth=0.8, alpha=0.6)
    for position, line in enumerate(named):
        _draw_line(axes, line, position)
    _draw_stops(axes, rest, [QUIET] * len(rest))
    _draw_stops(axes, named, COLOURS)
    _draw_hurdles(axes, curves)
    _draw_ahead(axes, curves, [line.arm for line in named])
    axes.set_xlabel("tokens seen")
    axes.xaxis.set_major_formatter(lambda tokens, _: short(round(tokens)))
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def labelled(lines: Sequence[Line]) -> tuple[Sequence[Line], Sequence[Line]]:
    """Return the lines that get a name and those that stay grey: the baseline, then who came furthest and best."""
    if len(lines) <= LABELLED_LINES:
        return lines, ()
    best = sorted(lines[1:], key=lambda line: (-line.tokens[-1], line.mean[-1]))
    named = [lines[0], *best[: LABELLED_LINES - 1]]
    return named, [line for line in lines if line not in named]


def _draw_line(axes: Any, line: Line, position: int) -> None:
    colour, marker = COLOURS[position % len(COLOURS)], MARKERS[position % len(MARKERS)]
    style = LINE_STYLES[position % len(LINE_STYLES)]
    if line.n > 1:
        axes.fill_between(line.tokens, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
    every = max(1, len(line.tokens) // 8)
    axes.plot(line.tokens, line.mean, color=colour, linestyle=style, marker=marker, markevery=every)


def _draw_stops(axes: Any, lines: Sequence[Line], colours: Sequence[str]) -> None:
    """Draw a bar across the end of each line that a hurdle has stopped."""
    for line, colour in zip(lines, colours, strict=False):
        if line.stopped_at is not None:
            axes.plot(line.tokens[-1:], line.mean[-1:], marker="|", markersize=11, markeredgewidth=2, color=colour)


def _draw_hurdles(axes: Any, curves: Curves) -> None:
    for level, hurdle in enumerate(curves.hurdles, start=1):
        axes.axvline(hurdle.tokens, color=QUIET, linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
        place = {"transform": axes.get_xaxis_transform(), "color": QUIET, "fontsize": 8.5}
        stopped = sum(line.stopped_at == level for line in curves.lines)
        axes.text(
            hurdle.tokens, 0.985, f" hurdle {level}" + (f": {stopped} stopped" if stopped else ""), va="top", **place
        )
        if hurdle.threshold is not None:
            axes.plot([hurdle.tokens], [hurdle.threshold], marker="_", markersize=22, color=INK, markeredgewidth=2)


def _draw_ahead(axes: Any, curves: Curves, named: Sequence[str]) -> None:
    """Draw forecasts dashed, on an axis of tokens that is then logarithmic: they reach many times as far."""
    shown = [ahead for ahead in curves.ahead if ahead.arm in named]
    if not shown:
        return
    axes.set_xscale("log")
    seen, end = shown[0].tokens[0], shown[0].tokens[-1]
    axes.axvspan(seen, end, color=QUIET, alpha=0.08, linewidth=0)
    axes.text(seen, 0.03, " forecast, not measured", transform=axes.get_xaxis_transform(), color=QUIET, fontsize=8.5)
    for ahead in shown:
        colour = COLOURS[named.index(ahead.arm) % len(COLOURS)]
        axes.plot(ahead.tokens, ahead.middle, color=colour, linestyle=(0, (4, 3)), linewidth=1.1)
        reach = [[ahead.middle[-1] - ahead.low[-1]], [ahead.high[-1] - ahead.middle[-1]]]
        axes.errorbar([end], [ahead.middle[-1]], yerr=reach, color=colour, capsize=2.5, linewidth=1)


def _label_ends(axes: Any, lines: Sequence[Line], right: int) -> None:
    """Write each line's name at the right, in the order of the ends, pushed apart where they crowd."""
    low, high = axes.get_ylim()
    ends = sorted(range(len(lines)), key=lambda position: lines[position].mean[-1])
    shares = spread([(lines[position].mean[-1] - low) / (high - low) for position in ends], LABEL_GAP)
    for share, position in zip(shares, ends, strict=True):
        line, colour = lines[position], COLOURS[position % len(COLOURS)]
        marker = MARKERS[position % len(MARKERS)]
        outside = {"transform": axes.transAxes, "color": colour, "clip_on": False}
        axes.plot([1.03], [share], marker=marker, markersize=4.5, **outside)
        axes.text(NAMES_BEGIN, share, _name(line, right), va="center", fontsize=NAME_POINTS, **outside)


def _label_below(axes: Any, lines: Sequence[Line], end: int, plot_inches: float) -> None:
    """Write the names below the axis, from the highest end to the lowest."""
    ends = sorted(range(len(lines)), key=lambda position: -lines[position].mean[-1])
    for row, position in enumerate(ends):
        share = -(AXIS_INCHES + NAME_INCHES * row) / plot_inches
        outside = {"transform": axes.transAxes, "color": look(position)["color"], "clip_on": False}
        draw_sample(axes, position, (0.0, 0.08), share)
        axes.text(0.11, share, _name(lines[position], end), va="center", fontsize=NAME_POINTS, **outside)


def _name(line: Line, end: int) -> str:
    stopped = "" if line.tokens[-1] == end else f", to {short(line.tokens[-1])}"
    return f"{line.arm} (n = {line.n}{stopped})"
