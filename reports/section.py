"""A question of a report: its tables as rows and as people read them, its clause of the finding, its figure.

A file of `reports/sections/` has one as `SECTION`; `reports/sections/__init__.py` finds it there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from reports.figures.figure import ReportFigure
from reports.grid import Grid
from reports.table import Row, Table

Evidence = TypeVar("Evidence")
"""The results of an experiment."""


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


def no_content(evidence: object) -> Content:
    """Return no table: the section has a clause, a condition or a figure alone."""
    return Content()


def nothing(evidence: object) -> Iterable[Any]:
    """Return no clause and no condition."""
    return ()


def no_sentence(evidence: object) -> str:
    """Return no sentence."""
    return ""


@dataclass(frozen=True)
class Section(Generic[Evidence]):
    """One question of a report."""

    name: str
    content: Callable[[Evidence], Content] = no_content
    applies: Callable[[Evidence], bool] = every_experiment
    """Whether the tables apply; clauses, conditions and figures are empty where they do not."""
    clauses: Callable[[Evidence], Iterable[str]] = nothing
    """Its part of the finding; empty texts are left out."""
    sentence: Callable[[Evidence], str] = no_sentence
    """Its sentences of the finding, after the clauses."""
    conditions: Callable[[Evidence], Iterable[tuple[str, str]]] = nothing
    """Terms with texts of the footer: the conditions under which the numbers were measured."""
    values: Callable[[Evidence], Iterable[Row]] = nothing
    """Measured values that are of no trial, as rows of the values in long form."""
    figure: ReportFigure[Evidence, Any] | None = None
    of_trials: bool = True
    """Whether it is about trained models, so that an experiment without trials does not ask it."""


def with_rows(*tables: Table) -> tuple[Table, ...]:
    """Return the tables that have rows."""
    return tuple(table for table in tables if table.rows)
