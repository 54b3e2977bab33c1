"""A question of a report: its tables as rows and as people read them, its clause of the finding, its figure.

A file of `reports/sections/` has one as `SECTION`; `reports/sections/__init__.py` finds it there. Readers of a row's
numbers, spreads, differences with their intervals and p values make its columns.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.figures.figure import ReportFigure
from reports.number_format import NOTHING, UNKNOWN, fixed, interval_text, p_text, short
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Cell, Column, Grid, Row, Table, number, shown, words
from steeplechase.analysis.difference import Difference
from steeplechase.foundation.schema import JsonValue

DELTA = "Δ [95%] (n)"
Reader = Callable[[Row], str]
METRIC = words("metric", lambda row: Metric(str(row["metric"])).title)
"""The title of a row's metric."""


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
    limits: Callable[[Results], Iterable[str]] = nothing
    """Its sentences of the box of what the report cannot say."""
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


def known(value: JsonValue, text: Callable[[float], str]) -> str:
    """Return a number as text; a dash for what is none."""
    found = number(value)
    return NOTHING if found is None else text(found)


def number_text(value: JsonValue, decimals: int) -> str:
    """Return a number with fixed decimals; a dash for what is none."""
    return known(value, lambda found: fixed(found, decimals))


def decimal(name: str, decimals: int) -> Reader:
    """Return a reader of a number."""
    return lambda row: number_text(row[name], decimals)


def tokens(row: Row) -> str:
    """Return the tokens of a row in short units."""
    return known(row["tokens"], lambda count: short(round(count)))


def p_value(name: str) -> Reader:
    """Return a reader that writes a row's p value of this name."""
    return lambda row: p_text(number(row[name]))


def spread_text(mean: float | None, sd: float | None, n: object, decimals: int) -> str:
    """Return `mean ± sd (n)`; a single value has no standard deviation."""
    if mean is None:
        return NOTHING
    return f"{fixed(mean, decimals)} ± {UNKNOWN if sd is None else fixed(sd, decimals)} ({n})"


def spread(decimals: int, mean: str = "mean", sd: str = "sd", n: str = "n") -> Reader:
    """Return a reader of `mean ± sd (n)`."""
    return lambda row: spread_text(number(row[mean]), number(row[sd]), row[n], decimals)


def grouped(rows: Iterable[Row], *names: str) -> list[list[Row]]:
    """Return the rows with equal values in some columns together, in the order in which these first occur."""
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return [*found.values()]


def shared(title: str, name: str = "", numeric: bool = False) -> Column:
    """Return a column of what the rows of a group have in common."""
    return Column(title, numeric=numeric, read=lambda rows: str(rows[0][name or title]))


def where(name: str, value: object, read: Reader) -> Callable[[Sequence[Row]], str]:
    """Return a reader of the row of a group that has a value; a dash without one."""
    return lambda rows: next((read(row) for row in rows if row[name] == value), NOTHING)


def interval_cell(difference: Difference, decimals: int) -> Cell:
    """Return `Δ [low, high] (n)`."""
    return Cell(interval_text(difference, decimals), intervals=int(difference.low is not None))


def difference_in(row: Row, suffix: str = "", prefix: str = "") -> Difference:
    """Return a difference from the columns n, delta, low and high of a row."""
    pairs = row[f"{prefix}n{suffix}"]
    assert isinstance(pairs, int)
    return Difference(pairs, *(number(row[f"{prefix}{name}{suffix}"]) for name in ("delta", "low", "high")))


def delta(
    decimals: int | Mapping[str, int], title: str = DELTA, group: str = "", suffix: str = "", prefix: str = ""
) -> Column:
    """Return a column of differences, with decimals for all rows or by the row's metric."""

    def read(row: Row) -> Cell:
        digits = decimals if isinstance(decimals, int) else decimals[str(row["metric"])]
        return interval_cell(difference_in(row, suffix, prefix), digits)

    return Column(title, group, read=read)
