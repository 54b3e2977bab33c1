"""Importance of each axis of a search: its share of the variance of the held-out loss at the first hurdle."""

from collections.abc import Iterator

from reports.columns import decimal
from reports.grid import Column, shown, words
from reports.section import Content, Section
from reports.sections.candidates import candidates_table
from reports.statistics.evidence import Evidence
from reports.table import Row, Table

TITLE = "Importance: share of the variance of the held-out loss at the first hurdle"
COLUMNS = (words("axis", "path"), Column("share of variance", read=decimal("importance", 2)), Column("candidates"))


def _content(evidence: Evidence) -> Content:
    measured = sum(row["tokens"] is not None for row in evidence.results.once(candidates_table).rows)
    ranked = sorted(evidence.results.snapshot.importance.items(), key=lambda item: (-item[1], item[0]))
    rows: Iterator[Row] = ({"path": path, "importance": share, "candidates": measured} for path, share in ranked)
    shares = Table.of("importance", rows)
    return Content((shares,), shown(shares.name, TITLE, COLUMNS, shares.rows))


def _applies(evidence: Evidence) -> bool:
    return evidence.results.is_search and bool(evidence.results.snapshot.importance)


SECTION = Section("importance", _content, _applies)
