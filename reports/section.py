"""A question of a report: its tables as rows and as people read them, its clause of the finding, its figure.

A file of `reports/sections/` has one as `SECTION`; `reports/sections/__init__.py` finds it there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reports.columns import grouped
from reports.figures.figure import ReportFigure
from reports.grid import Column, Grid, shown
from reports.statistics.results import Results
from reports.table import Row, Table


@dataclass(frozen=True)
class Content:
    """The content of a section for one experiment."""

    tables: tuple[Table, ...] = ()
    """Each is written as a CSV file of its name and into the JSON document."""
    grids: tuple[Grid, ...] = ()
    notes_on_results: tuple[str, ...] = ()
    """Notes below the main table, for a section without a grid."""


def no_content(results: Results) -> Content:
    """Return no table: the section has a clause, a condition or a figure alone."""
    return Content()


def nothing(results: Results) -> Iterable[Any]:
    """Return no clause and no condition."""
    return ()


@dataclass(frozen=True)
class Section:
    """One question of a report."""

    name: str
    content: Callable[[Results], Content] = no_content
    applies: Callable[[Results], bool] = lambda results: True
    """Whether the tables apply; clauses, conditions and figures are empty where they do not."""
    clauses: Callable[[Results], Iterable[str]] = nothing
    """Its part of the finding; empty texts are left out."""
    sentence: Callable[[Results], str] = lambda results: ""
    """Its sentences of the finding, after the clauses."""
    conditions: Callable[[Results], Iterable[tuple[str, str]]] = nothing
    """Terms with texts of the footer: the conditions of the measurement; empty texts are left out."""
    values: Callable[[Results], Iterable[Row]] = nothing
    """Measured values that are of no trial, as rows of the values in long form."""
    figure: ReportFigure[Any] | None = None
    of_trials: bool = True
    """Whether it is about trained models, so that an experiment without trials does not ask it."""


def one_table(
    name: str,
    rows: Callable[[Results], Iterable[Row]],
    title: str,
    columns: Sequence[Column] | Callable[[Results], Iterable[Column]],
    *notes: str,
    by: Sequence[str] = (),
) -> Callable[[Results], Content]:
    """Return the content of a section that is one table, specified by its rows as data and its columns as read.

    `by`: columns of the data; its rows with equal values there are one row as people read it.
    """

    def content(results: Results) -> Content:
        found = Table.of(name, rows(results))
        read = grouped(found.rows, *by) if by else found.rows
        read_columns = [*columns(results)] if callable(columns) else columns
        return Content(found.filled, shown(name, title, read_columns, read, notes))

    return content


def with_rows(*tables: Table) -> tuple[Table, ...]:
    """Return the tables that have rows."""
    return tuple(table for table in tables if table.rows)
