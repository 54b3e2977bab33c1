"""JSON: the finding and every table as rows, for programs. Text is ASCII-escaped, so no control character passes."""

import json

from reports.document import Report
from reports.table import Table
from steeplechase.foundation.schema import JsonValue

DECIMALS = 6


def render(report: Report) -> str:
    """Return one object with experiment, scale, finding, `tables` of arms, and `evidence`, all other tables.

    The scale is null if the experiment file has none.
    """
    arm_tables = [table for table in report.tables if table.name == "results"]
    document = {
        "experiment": report.experiment,
        "scale": report.scale or None,
        "finding": report.finding,
        "tables": [_table(table) for table in arm_tables],
        "evidence": [_table(table) for table in report.tables if table not in arm_tables],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _table(table: Table) -> dict[str, JsonValue]:
    rows: list[JsonValue] = [{column: _rounded(value) for column, value in row.items()} for row in table.rows]
    return {"name": table.name, "rows": rows}


def _rounded(value: JsonValue) -> JsonValue:
    return round(value, DECIMALS) + 0.0 if isinstance(value, float) else value
