"""The lowest held-out loss that a search has seen by what it has spent: mean over search seeds with its interval."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, series_style
from reports.figures.named_lines import named_panels
from reports.figures.style import COLOURS, QUIET
from reports.section import Section
from reports.statistics.results import Results
from reports.statistics.search_comparison import BestByCost, ComparedSearch, SearchComparison
from reports.table import Row, Table, printable
from steeplechase.ledger.search_trace import recorded_trace

FIRST_STYLE = 1  # the first of all is the baseline's elsewhere
SEARCHES_AT_MOST = len(COLOURS) - FIRST_STYLE
TITLE, BAND = "lowest held-out loss seen (nats), mean over search seeds", "95% interval"


def _of_evidence(results: Results) -> SearchComparison | None:
    """Return the search of a report as a comparison of one; None without a search or before its first training."""
    if results.experiment.search is None:
        return None
    trace = recorded_trace(results.snapshot, results.experiment)
    found = SearchComparison((ComparedSearch(results.experiment.experiment, (trace,), "this ledger"),))
    return found if len(found.best_by_cost[0].costs) > 1 else None


def _rows(comparison: SearchComparison) -> Iterator[Row]:
    for curve in comparison.best_by_cost:
        for cost, mean, low, high in zip(curve.costs, curve.mean, curve.low, curve.high, strict=True):
            yield {"search": curve.name, "n": curve.n, "cost": cost, "mean": mean, "low": low, "high": high}


def draw(comparison: SearchComparison) -> Figure:
    """Return one panel with a line per search, named at the right."""
    curves = comparison.best_by_cost[:SEARCHES_AT_MOST]
    return named_panels([(partial(_draw_panel, curves=curves), [*map(_named, curves)], FIRST_STYLE)])


def _draw_panel(axes: Any, curves: tuple[BestByCost, ...]) -> None:
    for position, curve in enumerate(curves, start=FIRST_STYLE):
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


def _named(curve: BestByCost) -> str:
    return f"{printable(curve.name)} (n = {curve.n})"


FIGURE = ReportFigure(
    "best_by_cost",
    lambda comparison: "Lowest loss by what the search has spent",
    _of_evidence,
    lambda comparison: Table.of("best_by_cost", _rows(comparison)),
    draw,
)
SECTION = Section("best_by_cost", figure=FIGURE)
