"""Figure of latencies: time by length, and the ratios of time and FLOPs to the baseline."""

from dataclasses import dataclass
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, new_figure, spread
from reports.figures.style import COLOURS, MARKERS, QUIET
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.latency import ArmLatency, LatencyEvidence, latencies_of, latency_table
from reports.table import Table

MILLISECOND = 1e3

WIDTH_INCHES, HEIGHT_INCHES = 8.6, 3.7
TIME_AXES, RATIO_AXES = (0.075, 0.14, 0.34, 0.75), (0.5, 0.14, 0.335, 0.75)
LABEL_GAP = 0.062  # of the axes' height, so that names do not overlap


@dataclass(frozen=True)
class _Style:
    """One arm's colour and marker, the same in both panels."""

    colour: str
    marker: str


def timed_of(evidence: Evidence) -> LatencyEvidence | None:
    """Return the latencies; None where none is measured, and before a length has been timed."""
    found = evidence.results.once(latencies_of)
    return found if found is not None and found.measured else None


def times_table(evidence: LatencyEvidence) -> Table:
    """Return a row per length and arm, as in the report."""
    return latency_table(evidence, "latency")


def draw(evidence: LatencyEvidence) -> Figure:
    """Return two panels: milliseconds on a logarithmic scale, and ratios with their intervals."""
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    styles = {
        arm: _Style(COLOURS[position % len(COLOURS)], MARKERS[position % len(MARKERS)])
        for position, arm in enumerate(evidence.arms)
    }
    _draw_times(figure.add_axes(TIME_AXES), evidence, styles)
    _draw_ratios(figure.add_axes(RATIO_AXES), evidence, styles)
    return figure


def _draw_times(axes: Any, evidence: LatencyEvidence, styles: dict[str, _Style]) -> None:
    for arm, style in styles.items():
        times = [timed.seconds.value * MILLISECOND for timed in evidence.of_arm(arm)]
        axes.plot(evidence.lengths, times, color=style.colour, marker=style.marker)
    axes.set_yscale("log", base=10)
    axes.set_title("Milliseconds per sequence")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _length_axis(axes, evidence)


def _draw_ratios(axes: Any, evidence: LatencyEvidence, styles: dict[str, _Style]) -> None:
    for arm, style in styles.items():
        timed = evidence.of_arm(arm)
        ratios = [latency.speedup.inverse for latency in timed]
        values = [ratio.value for ratio in ratios]
        axes.plot(evidence.lengths, values, color=style.colour, marker=style.marker)
        intervals = [(latency.length, ratio.low, ratio.high) for latency, ratio in zip(timed, ratios, strict=True)]
        for length, low, high in intervals:
            if low is not None:
                axes.plot([length, length], [low, high], color=style.colour, linewidth=3.5, alpha=0.45)
        flops = [latency.flops_ratio for latency in timed]
        axes.plot(evidence.lengths, flops, color=style.colour, linestyle=(0, (4, 2)), linewidth=1.0)
    baseline = printable(evidence.arms[0])
    axes.set_title(f"Ratio to {baseline}: time, and FLOPs dashed")
    _length_axis(axes, evidence)
    _name_ends(axes, [timed for arm in styles for timed in evidence.of_arm(arm)[-1:]], styles)


def _length_axis(axes: Any, evidence: LatencyEvidence) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(evidence.lengths), [str(length) for length in evidence.lengths])
    axes.minorticks_off()
    axes.set_xlabel("tokens per sequence")
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _name_ends(axes: Any, last: list[ArmLatency], styles: dict[str, _Style]) -> None:
    """Write each arm's name at the right in the order of the last ratios, without overlaps."""
    low, high = axes.get_ylim()
    ordered = sorted(last, key=lambda timed: timed.speedup.inverse.value)
    shares = [(timed.speedup.inverse.value - low) / (high - low) for timed in ordered]
    for share, timed in zip(spread(shares, LABEL_GAP), ordered, strict=True):
        style = styles[timed.arm]
        text_style = {"transform": axes.transAxes, "clip_on": False}
        axes.plot([1.05], [share], marker=style.marker, color=style.colour, markersize=4.5, **text_style)
        axes.text(1.08, share, printable(timed.arm), color=style.colour, va="center", fontsize=9, **text_style)


FIGURE = ReportFigure("latency", lambda evidence: "Time and FLOPs by length", timed_of, times_table, draw)
