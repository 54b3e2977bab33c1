"""Brief report for a terminal: finding, results on the headline metrics, and verdicts."""

from dataclasses import replace

from reports.document import Report
from reports.sections.failures import INCOMPLETE
from reports.sections.failures import TERM as FAILED
from reports.sections.tuned_effects import TUNED

VERDICTS = ("candidates", "results", "factors main", "factors interaction", "effects", "claims", "orderings", TUNED)
CONDITIONS = (FAILED, INCOMPLETE)


def brief(report: Report, command: str) -> Report:
    """Return the report reduced to finding, results and verdicts; `command` shows the full report."""
    grids = tuple(grid.brief for grid in report.grids if grid.name in VERDICTS)
    footer = tuple((term, text) for term, text in report.footer if term in CONDITIONS)
    left_out = len(report.grids) - len(grids)
    tables = {0: "", 1: "1 more table, "}.get(left_out, f"{left_out} more tables, ")
    return replace(report, grids=grids, footer=footer, more=f"{tables}all columns and the conditions: {command}")
