"""What the mirror's SQLite file holds, read without MLflow."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

TABLES = ("experiments", "runs", "metrics", "latest_metrics", "params", "tags", "experiment_tags")


def rows(database: Path | None, query: str) -> list[Any]:
    assert database
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.execute(query))


def everything(database: Path | None) -> dict[str, list[Any]]:
    return {table: sorted(rows(database, f"SELECT * FROM {table}"), key=repr) for table in TABLES}


def values_of_tag(database: Path | None, key: str) -> dict[str, str]:
    """Return run name to value."""
    query = f"SELECT runs.name, tags.value FROM runs JOIN tags USING (run_uuid) WHERE tags.key = '{key}'"
    return dict(rows(database, query))


def statuses(database: Path | None) -> dict[str, str]:
    return dict(rows(database, "SELECT name, status FROM runs"))
