"""The picture of a timing report: time by length, and its ratio to the baseline beside the ratio of operations.

Drawing is deterministic, as `reports.figures.matplotlib_style` makes it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from reports.figures.matplotlib_style import Figure, new_figure, png_bytes, spread, svg_text
from reports.figures.style import COLOURS, MARKERS, QUIET
from reports.sanitise import printable
from reports.timing.analysis import Analysis, Timed
from reports.timing.tables import MILLISECOND

WIDTH_INCHES, HEIGHT_INCHES = 8.6, 3.7
TIME_PLACE, RATIO_PLACE = (0.075, 0.14, 0.34, 0.75), (0.5, 0.14, 0.335, 0.75)
LABEL_GAP = 0.062  # of the axes' height, so that names never overlap


@dataclass(frozen=True)
class _Look:
    """One arm's colour and shape, the same in both halves."""

    colour: str
    marker: str


def svg_of(analysis: Analysis) -> str:
    """Return the picture as an SVG element without prologue, ready to stand inside a page."""
    return svg_text(partial(_draw, analysis))


def png_of(analysis: Analysis) -> bytes:
    """Return the picture as a PNG on white."""
    return png_bytes(partial(_draw, analysis))


def _draw(analysis: Analysis) -> Figure:
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    looks = {
        arm: _Look(COLOURS[position % len(COLOURS)], MARKERS[position % len(MARKERS)])
        for position, arm in enumerate(analysis.arms)
    }
    _draw_times(figure.add_axes(TIME_PLACE), analysis, looks)
    _draw_ratios(figure.add_axes(RATIO_PLACE), analysis, looks)
    return figure


def _draw_times(axes: Any, analysis: Analysis, looks: dict[str, _Look]) -> None:
    for arm, look in looks.items():
        times = [timed.seconds.value * MILLISECOND for timed in analysis.of_arm(arm)]
        axes.plot(analysis.lengths, times, color=look.colour, marker=look.marker)
    axes.set_yscale("log", base=10)
    axes.set_title("Milliseconds per sequence")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _length_axis(axes, analysis)


def _draw_ratios(axes: Any, analysis: Analysis, looks: dict[str, _Look]) -> None:
    for arm, look in looks.items():
        timed = analysis.of_arm(arm)
        ratios = [each.speedup.inverse for each in timed]
        values = [ratio.value for ratio in ratios]
        axes.plot(analysis.lengths, values, color=look.colour, marker=look.marker)
        known = [(each.length, ratio.low, ratio.high) for each, ratio in zip(timed, ratios, strict=True)]
        for length, low, high in known:
            if low is not None:
                axes.plot([length, length], [low, high], color=look.colour, linewidth=3.5, alpha=0.45)
        flops = [each.flops_ratio for each in timed]
        axes.plot(analysis.lengths, flops, color=look.colour, linestyle=(0, (4, 2)), linewidth=1.0)
    baseline = printable(analysis.arms[0])
    axes.set_title(f"Ratio to {baseline}: time, and FLOPs dashed")
    _length_axis(axes, analysis)
    _name_ends(axes, [timed for arm in looks for timed in analysis.of_arm(arm)[-1:]], looks)


def _length_axis(axes: Any, analysis: Analysis) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(analysis.lengths), [str(length) for length in analysis.lengths])
    axes.minorticks_off()
    axes.set_xlabel("tokens per sequence")
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _name_ends(axes: Any, last: list[Timed], looks: dict[str, _Look]) -> None:
    """Write each arm's name at the right, in the order of the ends, pushed apart where they crowd."""
    low, high = axes.get_ylim()
    ordered = sorted(last, key=lambda timed: timed.speedup.inverse.value)
    shares = [(timed.speedup.inverse.value - low) / (high - low) for timed in ordered]
    for share, timed in zip(spread(shares, LABEL_GAP), ordered, strict=True):
        look = looks[timed.arm]
        place = {"transform": axes.transAxes, "clip_on": False}
        axes.plot([1.05], [share], marker=look.marker, color=look.colour, markersize=4.5, **place)
        axes.text(1.08, share, printable(timed.arm), color=look.colour, va="center", fontsize=9, **place)
