"""The lowest held-out loss that a search has seen by what it has spent: mean over search seeds with its interval."""

from collections.abc import Iterator
from typing import Any

from ledger.search_trace import recorded_trace
from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, draw_sample, new_figure, series_style, text_inches
from reports.figures.style import COLOURS, QUIET
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.search_comparison import BestByCost, ComparedSearch, SearchComparison
from reports.table import Row, Table, table

PLOT_INCHES, LEFT_INCHES, HEIGHT_INCHES, NAME_POINTS, NAME_INCHES, SAMPLE_INCHES = 4.6, 0.75, 3.3, 9, 0.21, 0.45
NARROW_INCHES, NARROW_PLOT_INCHES = 3.9, 2.4
SEARCHES_AT_MOST = len(COLOURS) - 1
TITLE, BAND = "lowest held-out loss seen (nats), mean over search seeds", "95% interval"


def _of_evidence(evidence: Evidence) -> SearchComparison | None:
    """Return the search of a report as a comparison of one; None without a search or before its first training."""
    results = evidence.results
    if results.experiment.search is None:
        return None
    trace = recorded_trace(results.snapshot, results.experiment)
    found = SearchComparison((ComparedSearch(results.experiment.experiment, (trace,), "this ledger"),))
    return found if len(found.best_by_cost[0].costs) > 1 else None


def best_by_cost_table(comparison: SearchComparison) -> Table:
    """Return the points of the curves."""
    return table("best_by_cost", "search n cost mean low high", _rows(comparison))


def _rows(comparison: SearchComparison) -> Iterator[Row]:
    for curve in comparison.best_by_cost:
        for cost, mean, low, high in zip(curve.costs, curve.mean, curve.low, curve.high, strict=True):
            yield {"search": curve.name, "n": curve.n, "cost": cost, "mean": mean, "low": low, "high": high}


def draw(comparison: SearchComparison) -> Figure:
    """Return one panel with a line per search, named at the right."""
    curves = comparison.best_by_cost[:SEARCHES_AT_MOST]
    names = SAMPLE_INCHES + 0.2 + text_inches(map(_named, curves), NAME_POINTS)
    width = LEFT_INCHES + PLOT_INCHES + names
    axes = new_figure(width, HEIGHT_INCHES).add_axes((LEFT_INCHES / width, 0.15, PLOT_INCHES / width, 0.74))
    _draw_panel(axes, curves)
    for row, curve in enumerate(curves):
        height = 1 - (row + 0.5) * NAME_INCHES / (0.74 * HEIGHT_INCHES)
        draw_sample(axes, row + 1, (1 + 0.1 / PLOT_INCHES, 1 + 0.4 / PLOT_INCHES), height)
        _write_name(axes, row + 1, (1 + SAMPLE_INCHES / PLOT_INCHES, height), curve)
    return axes.figure


def draw_narrow(comparison: SearchComparison) -> Figure:
    """Return the panel with the names below it."""
    curves = comparison.best_by_cost[:SEARCHES_AT_MOST]
    names = NAME_INCHES * len(curves)
    height = 0.5 + NARROW_PLOT_INCHES + 0.6 + names
    figure = new_figure(NARROW_INCHES, height)
    axes = figure.add_axes((0.16, (names + 0.65) / height, 0.81, NARROW_PLOT_INCHES / height))
    _draw_panel(axes, curves)
    for row, curve in enumerate(curves):
        share = -(0.6 + (row + 0.5) * NAME_INCHES) / NARROW_PLOT_INCHES
        draw_sample(axes, row + 1, (0.0, 0.08), share)
        _write_name(axes, row + 1, (0.11, share), curve)
    return figure


def _draw_panel(axes: Any, curves: tuple[BestByCost, ...]) -> None:
    for position, curve in enumerate(curves, start=1):
        style = series_style(position)
        axes.step(curve.costs, curve.mean, where="post", color=style["color"], linestyle=style["linestyle"])
        if None not in curve.low:
            axes.fill_between(
                curve.costs, curve.low, curve.high, step="post", color=style["color"], alpha=0.15, linewidth=0
            )
    spread = any(None not in curve.low for curve in curves)
    axes.set_title(f"{TITLE}, {BAND}" if spread else TITLE.partition(",")[0], fontsize=9.5)
    axes.set_xlabel("full trainings of a candidate spent")
    axes.set_xlim(left=0)
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _write_name(axes: Any, position: int, place: tuple[float, float], curve: BestByCost) -> None:
    outside = {"transform": axes.transAxes, "color": series_style(position)["color"]}
    axes.text(*place, _named(curve), va="center", fontsize=NAME_POINTS, **outside)


def _named(curve: BestByCost) -> str:
    return f"{printable(curve.name)} (n = {curve.n})"


FIGURE = ReportFigure(
    "best_by_cost",
    lambda comparison: "Lowest loss by what the search has spent",
    _of_evidence,
    best_by_cost_table,
    draw,
    draw_narrow,
)
