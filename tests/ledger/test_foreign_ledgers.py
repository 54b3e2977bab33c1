"""Ledgers of a stranger: nothing that lies in one is run as a program or a query, or read from elsewhere."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from tests.factories.ledger_rows import filled

PROGRAM = "CREATE TRIGGER later AFTER INSERT ON records BEGIN DELETE FROM facts; END"
RENAMED = (
    f"{PROGRAM}; PRAGMA writable_schema=ON; "
    "UPDATE sqlite_master SET name = 'sqlite_x', sql = replace(sql, 'later', 'sqlite_x') WHERE name = 'later'"
)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS sequence, i AS name FROM n"


@pytest.mark.parametrize(
    "program",
    [
        PROGRAM,
        f"DROP TABLE records; CREATE VIEW records AS {ENDLESS}",
        RENAMED,
        "ALTER TABLE records ADD COLUMN more AS (zeroblob(1000000000))",
        "CREATE INDEX more ON records (zeroblob(1000000))",
        "CREATE VIRTUAL TABLE more USING fts5(x)",
    ],
    ids=["trigger", "view", "trigger of SQLite's names", "generated column", "index", "virtual table"],
)
def test_a_program_in_a_ledger_is_refused_and_not_run(tmp_path: Path, program: str) -> None:
    path = tmp_path / LEDGER_NAME
    filled(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(program)
    for refused in (lambda: Ledger(path), lambda: Ledger.at(tmp_path)):
        with pytest.raises(CorruptionError, match="which no ledger has; remove it"):
            refused()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (f"INSERT INTO ends VALUES ('({ENDLESS})', 1)", "names of a ledger's tables"),
        ("DELETE FROM ends WHERE name = 'records'", "names of a ledger's tables"),
        ("UPDATE facts SET name = CAST(name AS BLOB)", "is no text"),
        ("UPDATE facts SET content = X'5b5d'", "is no text"),
    ],
)
def test_a_value_of_another_type_or_meaning_is_refused_and_no_query(tmp_path: Path, change: str, said: str) -> None:
    path = tmp_path / LEDGER_NAME
    filled(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
        for place, name, content in connection.execute("SELECT sequence, name, content FROM facts").fetchall():
            checksum = fingerprint([place, str(name), str(content)])
            connection.execute("UPDATE facts SET checksum = ? WHERE sequence = ?", (checksum, place))
    for opened in (lambda: Ledger(path), lambda: Ledger.at(tmp_path)):
        with pytest.raises(CorruptionError, match=said):
            opened().facts()


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_ledger_and_what_is_beside_it_are_regular_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / LEDGER_NAME
    filled(path).close()
    beside = tmp_path / f"{LEDGER_NAME}{ending}"
    beside.unlink(missing_ok=True)
    beside.symlink_to("/dev/zero")
    for refused in (lambda: Ledger(path), lambda: Ledger.at(tmp_path)):
        with pytest.raises(MachineError, match=r"is (a symbolic link|not a regular file)"):
            refused()
