"""Shapley values with intervals: what each change contributes to all together, a panel per headline metric."""

from dataclasses import dataclass

from reports.figures.figure import ReportFigure
from reports.figures.interval_panels import Line, Panel, draw, draw_narrow
from reports.number_format import difference_text, percent
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.shapley import COLUMNS, Contribution
from reports.table import Table, table


@dataclass(frozen=True)
class Contributions:
    """Contributions to the headline metrics, each metric's sum last, with their panels."""

    rows: tuple[Contribution, ...]
    panels: tuple[Panel, ...]


def contributions_of(evidence: Evidence) -> Contributions | None:
    """Return the Shapley values on every headline metric with an interval; None without one."""
    results, values = evidence.results, evidence.shapley_values
    contributions, panels = [], []
    for metric in results.headlines:
        rows = [each for each in (values.rows if values else ()) if each.metric == metric]
        if any(each.difference.low is not None for each in rows):
            lines = tuple(_line(each, results.decimals(metric)) for each in rows)
            panels.append(Panel(f"Shapley values, Δ {metric.title}", metric, lines))
            contributions += rows
    return Contributions(tuple(contributions), tuple(panels)) if panels else None


def _line(row: Contribution, decimals: int) -> Line:
    share = "" if row.share is None else f"  {percent(row.share)}"
    return Line(printable(row.factor), row.difference, f"{difference_text(row.difference, decimals)}{share}")


def contributions_table(contributions: Contributions) -> Table:
    """Return the values of every panel."""
    return table("contributions", COLUMNS, (each.row for each in contributions.rows))


FIGURE = ReportFigure(
    "contributions",
    lambda contributions: "What each change contributes",
    contributions_of,
    contributions_table,
    draw,
    draw_narrow,
)
