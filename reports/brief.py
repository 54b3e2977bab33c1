"""Brief report for a terminal: finding, the arms with their results and verdicts; of a search, its candidates."""

from dataclasses import replace

from reports.document import Report
from reports.sections.failures import INCOMPLETE
from reports.sections.failures import TERM as FAILED
from reports.sections.tuned_effects import TUNED

VERDICTS = ("candidates", "results", "factors main", "factors interaction", "effects", "claims", "orderings", TUNED)
IN_SUMMARY = ("results", "effects", "claims", "orderings")
"""Tables that the summary of a comparison replaces."""
CONDITIONS = (FAILED, INCOMPLETE)


def brief(report: Report, command: str) -> Report:
    """Return the report reduced to its summary or, without one, to finding, results and verdicts.

    `command` shows the full report.
    """
    summary = report.summary
    kept = [grid for grid in report.grids if grid.name in VERDICTS and not (summary and grid.name in IN_SUMMARY)]
    footer = tuple((term, text) for term, text in report.footer if term in CONDITIONS)
    left_out = len(report.grids) - len(kept)
    tables = {0: "", 1: "1 more table, "}.get(left_out, f"{left_out} more tables, ")
    more = f"{tables}all columns and the conditions: {command}"
    if summary is None:
        return replace(report, grids=tuple(grid.brief for grid in kept), footer=footer, more=more)
    grids = (summary.table, *(grid.brief for grid in kept))
    return replace(report, finding=summary.finding, paper="", grids=grids, footer=footer, more=more)
