"""A section of a report: when it applies, its tables as rows, and the same as people read it with notes below."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reports.grid import Grid
from reports.table import Table

Evidence = TypeVar("Evidence")
"""What a kind of experiment has brought to light: of training or of latencies."""


@dataclass(frozen=True)
class Content:
    """What a section has to say of one experiment."""

    tables: tuple[Table, ...] = ()
    """Each is a CSV file of its name and part of the JSON document."""
    grids: tuple[Grid, ...] = ()
    notes_on_results: tuple[str, ...] = ()
    """Notes below the main table, where the section has no grid of its own to carry them."""


def every_experiment(evidence: object) -> bool:
    """Return that a section applies whatever the experiment."""
    return True


@dataclass(frozen=True)
class Section(Generic[Evidence]):
    """One part of every report that it applies to: `SECTION` in its file, listed once in reports/report.py."""

    name: str
    content: Callable[[Evidence], Content]
    applies: Callable[[Evidence], bool] = every_experiment


def with_rows(*tables: Table) -> tuple[Table, ...]:
    """Return the tables that have rows."""
    return tuple(table for table in tables if table.rows)
