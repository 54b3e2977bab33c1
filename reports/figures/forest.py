"""Forest plot: differences to the baseline with intervals, a panel per metric, a line per arm."""

from dataclasses import dataclass

from reports.figures.figure import ReportFigure
from reports.figures.interval_panels import Line, Panel, draw, draw_narrow
from reports.number_format import difference_text
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.table import Table, interval, table
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE


@dataclass(frozen=True)
class Forest:
    """Differences to the baseline with their intervals, a panel per metric, arms in the table's order."""

    panels: tuple[Panel, ...]


def forest_of(evidence: Evidence) -> Forest | None:
    """Return the differences on every metric with an interval; None without one."""
    results, panels = evidence.results, []
    rivals = [arm.name for arm in results.arms if arm.name != BASELINE]
    for metric in results.shown:
        decimals = results.decimals(metric)
        lines = [_line(arm, results.effect(arm, metric).difference, decimals) for arm in rivals]
        if any(line.difference.low is not None for line in lines):
            panels.append(Panel(f"Δ {metric.title} to the baseline", metric, tuple(lines)))
    return Forest(tuple(panels)) if panels else None


def _line(arm: str, difference: Difference, decimals: int) -> Line:
    return Line(printable(arm), difference, f"{difference_text(difference, decimals)}  n = {difference.n}")


def forest_table(forest: Forest) -> Table:
    """Return the differences of every panel."""
    rows = (
        {"metric": panel.metric.name, "arm": line.name, "pairs": line.difference.n, **interval(line.difference)}
        for panel in forest.panels
        for line in panel.lines
    )
    return table("forest", "metric arm pairs delta low high", rows)


FIGURE = ReportFigure(
    "forest", lambda forest: "Differences to the baseline", forest_of, forest_table, draw, draw_narrow
)
