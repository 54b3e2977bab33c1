"""What tests read of a built report: rows of its tables, its grids, its figures."""

from typing import Any, TypeVar

from reports.document import Report
from reports.figures.figure import Picture
from reports.table import Grid

Data = TypeVar("Data")


def rows_of(report: Report, name: str, **where: object) -> list[dict[str, Any]]:
    """Return the rows of a report's table that have these values; none where it has no such table."""
    rows = (dict(row) for table in report.tables if table.name == name for row in table.rows)
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def grid_of(report: Report, name: str) -> Grid:
    """Return the one grid of a report with this name."""
    (found,) = (grid for grid in report.grids if grid.name == name)
    return found


def picture(report: Report, name: str) -> Picture | None:
    return next((picture for picture in report.pictures if picture.name == name), None)


def figure_data(report: Report, kind: type[Data]) -> Data:
    """Return what the one figure of a kind shows."""
    (data,) = (picture.data for picture in report.pictures if isinstance(picture.data, kind))
    return data
