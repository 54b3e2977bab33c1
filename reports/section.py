"""A section of a report: when it applies, its tables as rows, and its grids with notes for display."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reports.grid import Grid
from reports.table import Table

Evidence = TypeVar("Evidence")
"""The results of an experiment: of training or of latencies."""


@dataclass(frozen=True)
class Content:
    """The content of a section for one experiment."""

    tables: tuple[Table, ...] = ()
    """Each is written as a CSV file of its name and into the JSON document."""
    grids: tuple[Grid, ...] = ()
    notes_on_results: tuple[str, ...] = ()
    """Notes below the main table, for a section without a grid."""


def every_experiment(evidence: object) -> bool:
    """Return True: the section applies to every experiment."""
    return True


@dataclass(frozen=True)
class Section(Generic[Evidence]):
    """One part of a report: `SECTION` in its file, listed once in reports/report.py."""

    name: str
    content: Callable[[Evidence], Content]
    applies: Callable[[Evidence], bool] = every_experiment


def with_rows(*tables: Table) -> tuple[Table, ...]:
    """Return the tables that have rows."""
    return tuple(table for table in tables if table.rows)
