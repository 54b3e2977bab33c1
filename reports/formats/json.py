"""JSON: the finding and every table as rows, for programs. Text is ASCII-escaped, so no control character passes."""

import json

from reports.report import Report
from search_space.declaration import JsonValue

DECIMALS = 6


def render(report: Report) -> str:
    """Return one object with experiment, scale, finding and tables."""
    document = {
        "experiment": report.experiment,
        "scale": report.scale,
        "finding": report.finding,
        "tables": [
            {
                "name": table.name,
                "rows": [{column: _rounded(value) for column, value in row.items()} for row in table.rows],
            }
            for table in report.tables
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _rounded(value: JsonValue) -> JsonValue:
    return round(value, DECIMALS) + 0.0 if isinstance(value, float) else value
