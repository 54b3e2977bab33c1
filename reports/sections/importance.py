"""Importance of each axis of a search: its share of the variance of the held-out loss at the first hurdle."""

from collections.abc import Iterator, Mapping

from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, fixed
from reports.section import Content, Section
from reports.sections.candidates import candidates_table
from reports.statistics.evidence import Evidence
from reports.table import Row, Table, table

DECIMALS = 2


def importance_table(importance: Mapping[str, float], candidates: int) -> Table:
    """Return the share of the held-out loss's variance that each axis explains, the largest first."""
    ranked = sorted(importance.items(), key=lambda item: (-item[1], item[0]))
    rows: list[Row] = [{"path": path, "importance": share, "candidates": candidates} for path, share in ranked]
    return table("importance", "path importance candidates", rows)


def importance_grid(shares: Table) -> Iterator[Grid]:
    """Yield the shares as a grid; none without shares."""
    if not shares.rows:
        return

    def cells(row: Row) -> list[str]:
        share = row["importance"]
        return [
            str(row["path"]),
            fixed(share, DECIMALS) if isinstance(share, float) else NOTHING,
            str(row["candidates"]),
        ]

    columns = [Column("axis", numeric=False), Column("share of variance"), Column("candidates")]
    title = "Importance: share of the variance of the held-out loss at the first hurdle"
    yield grid(shares.name, title, columns, map(cells, shares.rows))


def _applies(evidence: Evidence) -> bool:
    return evidence.results.is_search and bool(evidence.results.snapshot.importance)


def _content(evidence: Evidence) -> Content:
    measured = sum(row["tokens"] is not None for row in candidates_table(evidence.results).rows)
    shares = importance_table(evidence.results.snapshot.importance, measured)
    return Content((shares,), tuple(importance_grid(shares)))


SECTION = Section("importance", _content, _applies)
