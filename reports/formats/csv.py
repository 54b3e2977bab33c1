"""Comma-separated values: the results table only, byte for byte the same for equal results.

Numbers have six decimals, nothing depends on time or machine, and text that a spreadsheet would run as a
formula starts with an apostrophe (CWE-1236); numbers are never touched.
"""

import csv
import io

from reports.document import Report
from reports.table import Table, printable
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.csv_cells import escaped

DECIMALS = 6


def render(report: Report) -> str:
    """Return the results table."""
    return render_table(next(table for table in report.tables if table.name == "results"))


def render_table(table: Table) -> str:
    """Return one table with a header line."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(row[column]) for column in table.columns] for row in table.rows)
    return buffer.getvalue()


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}"
    if isinstance(value, int):
        return str(value)
    return escaped(printable(str(value)))
