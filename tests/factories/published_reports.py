"""The reports of the published folders, each built from its rows once by a process of tests."""

from functools import cache
from pathlib import Path

from reports.document import Report
from reports.formats.csv import render_table
from reports.report import build
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.snapshot import snapshot
from tests.factories.paths import PUBLISHED

NAMES = tuple(sorted(folder.name for folder in PUBLISHED.iterdir() if has_export(folder)))
"""The published folders with rows."""


@cache
def published_report(name: str) -> Report:
    """Return the report of a published folder, as `rebuild` builds it."""
    folder = PUBLISHED / name
    return build(snapshot(read_export(folder)), example_tables=kept_example_tables(folder))


def write_tables(name: str, built: Path) -> None:
    """Write the tables of a published folder's report into built/NAME/tables, as `rebuild --all-formats` does."""
    place = built / name / "tables"
    place.mkdir(parents=True)
    for table in published_report(name).tables:
        if table.rows:
            (place / f"{table.name}.csv").write_text(render_table(table), encoding="utf-8")
