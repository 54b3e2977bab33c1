"""The file of a ledger: created whole, and checked when it is opened.

It is made in memory, written under a temporary name and renamed, so that a killed process leaves none or an empty
ledger. Its table `ends` has the number of rows of every other table, kept by triggers in the transaction of each row:
rows that are missing at the end of a table are detected. So are references to rows that are missing, which an older
ledger, without that table, is held to alone.
"""

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from steeplechase.foundation.atomic_files import LARGEST_HOLE, flush, write_whole
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.locking import POSIX, SILENT_SECONDS, kernel_holder, tell
from steeplechase.foundation.scratch import scratch_folder

IN_MEMORY = ":memory:"
BLOCK = 512
"""Bytes of what `st_blocks` counts."""
LONGEST_WAIT_SECONDS = 300.0
"""For another program that holds the lock for writing."""
SCHEMA_VERSION = 1
NAME_CONSTRAINTS = {"facts": "UNIQUE", "arms": "UNIQUE", "trials": "UNIQUE", "records": "", "decisions": "UNIQUE"}
TABLES = "CREATE TABLE ends (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID; " + "".join(
    f"CREATE TABLE {table} (sequence INTEGER PRIMARY KEY, name TEXT {unique} NOT NULL, "
    "content TEXT NOT NULL, checksum TEXT NOT NULL); "
    f"INSERT INTO ends VALUES ('{table}', 0); "
    f"CREATE TRIGGER count_{table} AFTER INSERT ON {table} "
    f"BEGIN UPDATE ends SET count = count + 1 WHERE name = '{table}'; END; "
    for table, unique in NAME_CONSTRAINTS.items()
)
SCHEMA = f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version={SCHEMA_VERSION}; COMMIT;"
OBJECTS = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
"""All but the indexes that SQLite makes by itself."""
JOURNAL, LOG, LOG_INDEX = "-journal", "-wal", "-shm"
PAGES_BEFORE = slice(16, 20)
"""Where a rollback journal has the number of pages before its transaction. https://sqlite.org/fileformat.html, 3."""

REFERENCES = {
    "trials row {}: its arm {} is not among the arms": (
        "SELECT sequence, json_extract(content, '$.arm') AS other FROM trials "
        "WHERE other NOT IN (SELECT name FROM arms)"
    ),
    "records row {}: its trial {} is not among the trials": (
        "SELECT sequence, json_extract(content, '$.trial') AS other FROM records "
        "WHERE other IS NOT NULL AND other NOT IN (SELECT name FROM trials)"
    ),
    "decisions row {}: its trial {} is not among the trials": (
        "SELECT sequence, json_extract(content, '$.trial') AS other FROM decisions "
        "WHERE other NOT IN (SELECT name FROM trials)"
    ),
    "decisions row {}: trial {} has no record at its rung": (
        "WITH rungs AS (SELECT json_extract(content, '$.trial') AS trial, COUNT(DISTINCT "
        "substr(json_extract(content, '$.label'), instr(json_extract(content, '$.label'), '@'))) AS count "
        "FROM records WHERE json_extract(content, '$.label') GLOB 'pretrain@*' GROUP BY 1) "
        "SELECT decisions.sequence, json_extract(content, '$.trial') AS other FROM decisions "
        "LEFT JOIN rungs ON rungs.trial = other "
        "WHERE json_extract(content, '$.value') IS NOT NULL "
        "AND COALESCE(rungs.count, 0) <= json_extract(content, '$.level')"
    ),
}
"""A message, and the query of the rows that refer to a missing one."""


def for_writing(path: Path) -> sqlite3.Connection:
    """Return a connection for the only writer of a ledger, which is created if it is missing. Raises OSError."""
    if str(path) != IN_MEMORY:
        create(path)
    return sqlite3.connect(path, isolation_level=None, timeout=SILENT_SECONDS)


def begin(connection: sqlite3.Connection, path: Path) -> None:
    """Begin a transaction; while another program holds the lock for writing, wait, and tell so once.

    Raises sqlite3.OperationalError after `LONGEST_WAIT_SECONDS`.
    """
    until, told = time.monotonic() + LONGEST_WAIT_SECONDS, False
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode % 256 != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        if not told:
            told = True
            tell(f"{path}: waits for {writer_of(path)}, which holds its lock for writing")


def create(path: Path) -> None:
    """Create an empty ledger, unless there is a file with content. Raises OSError."""
    if path.is_file() and path.stat().st_size > 0:
        return
    for log in ("", JOURNAL, LOG, LOG_INDEX):  # the file first: a journal of a missing one is of no consequence
        beside(path, log).unlink(missing_ok=True)
    with closing(sqlite3.connect(IN_MEMORY, isolation_level=None)) as memory:
        memory.executescript(SCHEMA)
        write_whole(path, memory.serialize())
    flush(path.parent)


def killed_while_created(path: Path) -> bool:
    """Return whether an empty file is what a kill left of a ledger: beside the journal of its first page."""
    with suppress(OSError):
        if path.stat().st_size == 0 and not beside(path, LOG).exists():
            return not any(beside(path, JOURNAL).read_bytes()[PAGES_BEFORE])
    return False


def foreign_object(connection: sqlite3.Connection) -> str | None:
    """Return the first table, view, trigger or index that no ledger has, by kind and name; None if there is none.

    A view in place of a table, or a trigger, is a program that SQLite would run: it may never end, or change rows.
    """
    with closing(sqlite3.connect(IN_MEMORY, isolation_level=None)) as own:
        own.executescript(SCHEMA)
        known = {*own.execute(OBJECTS)}
    others = (found for found in connection.execute(OBJECTS) if found not in known)
    return next((f"the {kind} {str(name)[:80]!r}" for kind, name, _ in others), None)


def missing_rows(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield a message for every table whose end is missing, and for the first row that refers to a missing one."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    ends = dict(connection.execute("SELECT name, count FROM ends")) if "ends" in tables else {}
    if ends and ends.keys() != NAME_CONSTRAINTS.keys():  # such a name would be a part of the query below
        yield "ends: has not the names of a ledger's tables"
        return
    for table, count in ends.items():
        (found,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        if found != count:
            yield f"{table}: has {found} of the {count} rows that were written"
    for message, query in REFERENCES.items():
        for row in connection.execute(f"{query} LIMIT 1"):
            yield message.format(*row)


def beside(path: Path, ending: str) -> Path:
    """Return the file that SQLite keeps beside a database: `-wal`, `-shm`, `-journal`."""
    return path.with_name(f"{path.name}{ending}")


def writer_of(path: Path) -> str:
    """Return the name of the program that holds a lock of the ledger for writing."""
    for file in (beside(path, LOG_INDEX), path):
        with suppress(OSError):
            if (process := kernel_holder(file.stat(), POSIX)) is not None:
                return f"process {process}"
    return "another program"


def refuse_irregular(path: Path, read_only: bool) -> None:
    """Raise MachineError unless the path, and what SQLite keeps beside it, are regular files or free.

    SQLite would block on a pipe, and read a device for ever. A ledger that is only read may be a link.
    """
    try:
        if read_only:
            path = path.resolve()  # the logs of a linked file are beside its target
        for file in (beside(path, ending) for ending in ("", *LOGS, SHARED_INDEX)):
            _refuse_irregular_file(file)
    except (OSError, RuntimeError) as error:  # a link to itself
        raise MachineError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _refuse_irregular_file(file: Path) -> None:
    try:
        status = file.lstat()
    except FileNotFoundError:
        return
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        raise MachineError(f"{file}: is a symbolic link, and ledgers are not written through links; move it away")
    if not stat.S_ISREG(mode):
        raise MachineError(f"{file}: is not a regular file; move it away")
    if status.st_size - status.st_blocks * BLOCK > LARGEST_HOLE:  # not opened: its end would let go of SQLite's locks
        raise MachineError(f"{file}: a sparse file of {status.st_size:,} bytes, most of them absent; move it away")


LOGS = (LOG, JOURNAL)
SHARED_INDEX = LOG_INDEX
"""Exists while a process has the ledger open; such a file must be read through SQLite only."""
ATTEMPTS = 5
LONGEST_READ_SECONDS = 10.0
"""For another program that holds the file exclusively."""


def in_memory(path: Path) -> sqlite3.Connection:
    """Return the ledger's committed content.

    Raises OSError and sqlite3.DatabaseError, MachineError if the file changes during every copy.
    """
    path = Path(os.path.realpath(path))  # the logs of a linked file are beside its target
    if beside(path, SHARED_INDEX).exists():
        return _loaded(f"{path.as_uri()}?mode=ro", path)
    for _ in range(ATTEMPTS):
        with scratch_folder() as scratch:
            before = _state(path)
            copy = scratch / path.name
            shutil.copyfile(path, copy)
            for log in LOGS:
                if beside(path, log).exists():
                    shutil.copyfile(beside(path, log), beside(copy, log))
            if _state(path) == before:
                return _loaded(copy.as_uri(), path)
        if beside(path, SHARED_INDEX).exists():
            return _loaded(f"{path.as_uri()}?mode=ro", path)
    raise MachineError(f"{path}: changes while it is read; try again")


def _loaded(address: str, path: Path) -> sqlite3.Connection:
    until = time.monotonic() + LONGEST_READ_SECONDS

    def give_up(status: int, remaining: int, total: int) -> None:
        """Without it a backup goes on for ever while another program holds the file."""
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > until:
            raise MachineError(f"{path}: is locked by {writer_of(path)}; end it first")

    memory = sqlite3.connect(IN_MEMORY, isolation_level=None)
    try:
        with closing(sqlite3.connect(address, uri=True)) as file:
            file.backup(memory, progress=give_up)
        memory.execute("PRAGMA query_only=ON")
    except BaseException:
        memory.close()
        raise
    return memory


def _state(path: Path) -> list[tuple[int, int, int] | None]:
    """Return the inode, size and time of the file and of each log, which change with every write."""
    return [_stamp(beside(path, ending)) for ending in ("", *LOGS, SHARED_INDEX)]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
