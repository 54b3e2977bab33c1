"""Perplexity by the tokens of memory with which a text is read: a line per arm, mean over seeds with its interval."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, series_style
from reports.figures.named_lines import narrow_panel, wide_panel
from reports.figures.style import COLOURS, QUIET
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.memory_lengths import MemoryCurve, MemoryLengths, memory_lengths_of
from reports.table import Row, Table, table

ARMS_AT_MOST = len(COLOURS)
TITLE, SPREAD = "perplexity per token, mean over seeds", "95% interval"
SMALLEST_SHOWN = 1  # token, where the logarithmic axis becomes linear down to no memory


def memory_table(lengths: MemoryLengths) -> Table:
    """Return the points of the curves."""
    return table("perplexity_by_memory", "arm trained_with memory n mean low high", _rows(lengths))


def _rows(lengths: MemoryLengths) -> Iterator[Row]:
    for curve in lengths.curves:
        for point in curve.points:
            low, high = point.interval or (None, None)
            yield {
                "arm": curve.arm,
                "trained_with": curve.trained_with,
                "memory": point.memory,
                "n": len(point.values),
                "mean": point.mean,
                "low": low,
                "high": high,
            }


def draw(lengths: MemoryLengths) -> Figure:
    """Return one panel with a line per arm, named at the right."""
    return wide_panel(partial(_draw_panel, curves=_shown(lengths), between=", "), [*map(_named, _shown(lengths))])


def draw_narrow(lengths: MemoryLengths) -> Figure:
    """Return the panel with the names below it."""
    return narrow_panel(partial(_draw_panel, curves=_shown(lengths), between=",\n"), [*map(_named, _shown(lengths))])


def _shown(lengths: MemoryLengths) -> tuple[MemoryCurve, ...]:
    return lengths.curves[:ARMS_AT_MOST]


def _draw_panel(axes: Any, curves: tuple[MemoryCurve, ...], between: str) -> None:
    for position, curve in enumerate(curves):
        style = series_style(position)
        memories = [point.memory for point in curve.points]
        axes.plot(memories, [point.mean for point in curve.points], **style)
        for point in curve.points:
            if point.interval is not None:
                axes.vlines([point.memory], *point.interval, color=style["color"], linewidth=1.1)
    ticks = sorted({point.memory for curve in curves for point in curve.points})
    axes.set_xscale("symlog", base=2, linthresh=SMALLEST_SHOWN)
    axes.set_xticks(ticks, [f"{memory:,}" for memory in ticks])
    axes.minorticks_off()
    spread = any(point.interval for curve in curves for point in curve.points)
    axes.set_title(f"{TITLE}{between}{SPREAD}" if spread else TITLE, fontsize=9.5)
    axes.set_xlabel("tokens of memory at evaluation")
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _named(curve: MemoryCurve) -> str:
    return f"{printable(curve.arm)} (trained with {curve.trained_with:,})"


def _of_evidence(evidence: Evidence) -> MemoryLengths | None:
    return memory_lengths_of(evidence.results)


FIGURE = ReportFigure(
    "perplexity_by_memory",
    lambda lengths: f"Perplexity of {printable(lengths.text)} by tokens of memory",
    _of_evidence,
    memory_table,
    draw,
    draw_narrow,
)
