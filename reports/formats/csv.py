"""Comma-separated values: the results table only, byte for byte the same for equal results.

Numbers have six decimals, nothing depends on time or machine, and text that a spreadsheet would run as a
formula starts with an apostrophe (CWE-1236); numbers are never touched.
"""

import csv
import io
from collections.abc import Callable

from reports.document import Report
from reports.table import Table, printable
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.csv_cells import escaped

DECIMALS = 6


def render(report: Report) -> str:
    """Return the results table."""
    return render_table(next(table for table in report.tables if table.name == "results"))


def render_table(table: Table, cell: Callable[[JsonValue], str] | None = None) -> str:
    """Return one table with a header line; `cell` writes a value, by default as tables of a report have it."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([(cell or _cell)(row[column]) for column in table.columns] for row in table.rows)
    return buffer.getvalue()


def exact_cell(value: JsonValue) -> str:
    """Return a value as it is, from which scores can be computed again: all digits, every character of a text."""
    return "" if value is None else escaped(value) if isinstance(value, str) else str(value)


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}"
    if isinstance(value, int):
        return str(value)
    return escaped(printable(str(value)))
