"""JSON: the finding and every table as rows, for programs. Text is ASCII-escaped, so no control character passes."""

import json

from foundation.schema import JsonValue
from reports.document import Report
from reports.table import Table

DECIMALS = 6


def render(report: Report) -> str:
    """Return one object with experiment, scale, finding, `tables` of arms, and `evidence`: all other tables.

    The scale is null where the experiment file has none.
    """
    of_arms = [table for table in report.tables if table.name == "results"]
    document = {
        "experiment": report.experiment,
        "scale": report.scale or None,
        "finding": report.finding,
        "tables": [_table(table) for table in of_arms],
        "evidence": [_table(table) for table in report.tables if table not in of_arms],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _table(table: Table) -> dict[str, JsonValue]:
    rows: list[JsonValue] = [{column: _rounded(value) for column, value in row.items()} for row in table.rows]
    return {"name": table.name, "rows": rows}


def _rounded(value: JsonValue) -> JsonValue:
    return round(value, DECIMALS) + 0.0 if isinstance(value, float) else value
