"""The figures, drawn: held-out loss by tokens, and differences to the baseline with their intervals.

Drawing is deterministic: fixed salt, no date, no version, so that equal results give equal bytes.
"""

import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reports.effects import Difference
from reports.figure_data import Curves, Forest, Line, Panel
from reports.metrics import Metric
from reports.numbers import difference_text, short
from reports.pareto import Pareto
from reports.pareto_figure import draw_pareto
from reports.style import COLOURS, INK, LINE_STYLES, MARKERS, QUIET, SETTINGS

WIDTH_INCHES, CURVES_HEIGHT_INCHES, ROW_INCHES = 7.4, 4.0, 0.3
LABELLED_LINES = len(COLOURS)
LABEL_GAP = 0.052  # of the axes' height, so that labels never overlap
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
Draw = Callable[[Figure], None]
Drawn = Curves | Forest | Pareto


def svg_of(data: Drawn) -> str:
    """Return the figure as an SVG element without prologue, ready to stand inside a page."""
    buffer = io.StringIO()
    _draw(data, lambda figure: figure.savefig(buffer, format="svg", metadata=NO_METADATA))
    text = buffer.getvalue()
    return text[text.index("<svg") :].strip()


def save_png(data: Drawn, path: Path, dots_per_inch: int = 160) -> None:
    """Write the figure as a PNG on white, for pages that show no SVG."""
    metadata = {"Software": None}
    _draw(
        data,
        lambda figure: figure.savefig(path, format="png", dpi=dots_per_inch, facecolor="white", metadata=metadata),
    )


def _draw(data: Drawn, save: Draw) -> None:
    with mpl.rc_context({**mpl.rcParamsDefault, **SETTINGS, "backend": "agg"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the viewer's fonts have it or show a box
        figure = draw_pareto(data) if isinstance(data, Pareto) else _figure(data)
        FigureCanvasAgg(figure)
        save(figure)


def _figure(data: Curves | Forest) -> Figure:
    return _draw_curves(data) if isinstance(data, Curves) else _draw_forest(data)


def _draw_curves(curves: Curves) -> Figure:
    figure = Figure(figsize=(WIDTH_INCHES, CURVES_HEIGHT_INCHES))
    axes = figure.add_axes((0.085, 0.13, 0.67, 0.78))
    named, rest = _labelled(curves.lines)
    for line in rest:
        axes.plot(line.tokens, line.mean, color=QUIET, linewidth=0.8, alpha=0.6)
    for position, line in enumerate(named):
        _draw_line(axes, line, position)
    _draw_hurdles(axes, curves)
    axes.set_title("Held-out loss (nats): mean over seeds, band from lowest to highest seed")
    axes.set_xlabel("tokens seen")
    axes.xaxis.set_major_formatter(lambda tokens, _: short(int(tokens)))
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    _label_ends(axes, named)
    return figure


def _labelled(lines: Sequence[Line]) -> tuple[Sequence[Line], Sequence[Line]]:
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
    axes.plot(
        line.tokens, line.mean, color=colour, linestyle=style, marker=marker, markevery=max(1, len(line.tokens) // 8)
    )


def _draw_hurdles(axes: Any, curves: Curves) -> None:
    for level, hurdle in enumerate(curves.hurdles, start=1):
        axes.axvline(hurdle.tokens, color=QUIET, linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
        place = {"transform": axes.get_xaxis_transform(), "color": QUIET, "fontsize": 8.5}
        axes.text(hurdle.tokens, 0.985, f" hurdle {level}", va="top", **place)
        if hurdle.threshold is not None:
            axes.plot([hurdle.tokens], [hurdle.threshold], marker="_", markersize=22, color=INK, markeredgewidth=2)


def _label_ends(axes: Any, lines: Sequence[Line]) -> None:
    """Write each line's name at the right, in the order of the ends, pushed apart where they crowd."""
    low, high = axes.get_ylim()
    right = max((line.tokens[-1] for line in lines), default=1)
    ends = sorted(range(len(lines)), key=lambda position: lines[position].mean[-1])
    shares = spread([(lines[position].mean[-1] - low) / (high - low) for position in ends], LABEL_GAP)
    for share, position in zip(shares, ends, strict=True):
        line, colour = lines[position], COLOURS[position % len(COLOURS)]
        axes.plot(
            [1.03],
            [share],
            marker=MARKERS[position % len(MARKERS)],
            color=colour,
            markersize=4.5,
            transform=axes.transAxes,
            clip_on=False,
        )
        stopped = "" if line.tokens[-1] == right else f", to {short(line.tokens[-1])}"
        axes.text(
            1.05,
            share,
            f"{line.arm} (n = {line.n}{stopped})",
            color=colour,
            va="center",
            fontsize=9,
            transform=axes.transAxes,
        )


def spread(shares: Sequence[float], gap: float) -> list[float]:
    """Return rising positions at least a gap apart, moved up no further than that needs, then back inside 1."""
    placed: list[float] = []
    for share in shares:
        placed.append(max(share, placed[-1] + gap) if placed else share)
    overshoot = max(0.0, (placed[-1] if placed else 0.0) - 1.0)
    return [share - overshoot for share in placed]


def _draw_forest(forest: Forest) -> Figure:
    panels = forest.panels
    heights = [len(panel.rows) + 1.6 for panel in panels]
    figure = Figure(figsize=(WIDTH_INCHES, ROW_INCHES * sum(heights) + 0.5))
    grid = figure.add_gridspec(
        len(panels),
        1,
        height_ratios=heights,
        left=0.2,
        right=0.72,
        top=1 - 0.28 / figure.get_figheight(),
        bottom=0.32 / figure.get_figheight(),
        hspace=2.6 * len(panels) / sum(heights),
    )
    for position, panel in enumerate(panels):
        _draw_panel(figure.add_subplot(grid[position]), panel)
    return figure


def _draw_panel(axes: Any, panel: Panel) -> None:
    better = "lower" if panel.metric.lower_is_better else "higher"
    axes.set_title(f"Δ {panel.metric.title} to the baseline, 95% interval ({better} is better)")
    axes.axvline(0, color=QUIET, linewidth=0.9)
    places = range(len(panel.rows), 0, -1)
    for place, (_, difference) in zip(places, panel.rows, strict=True):
        text = f"{difference_text(difference, panel.decimals)}  n = {difference.pairs}"
        axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
        if difference.delta is None or difference.low is None or difference.high is None:
            continue
        _draw_interval(axes, place, panel.metric, difference)
    axes.set_yticks(list(places), [arm for arm, _ in panel.rows])
    axes.set_ylim(0.4, len(panel.rows) + 0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _draw_interval(axes: Any, place: int, metric: Metric, difference: Difference) -> None:
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
