"""Copies a ledger's content into memory, also from a read-only folder and while a run is writing.

SQLite reads a file in WAL mode only with its `-wal` and `-shm` files, and creates them if they are missing. So a
ledger that no process has open is copied to a temporary folder, with the log that a killed run may have left, and
read from there; a ledger that a run has open is read under SQLite's locks. Neither creates a file in its folder.
Source: https://www.sqlite.org/wal.html, "Read-Only Databases"; https://www.sqlite.org/howtocorrupt.html, 2.2.
"""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.ledger.database_file import JOURNAL, LOG, LOG_INDEX, beside, writer_of

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

    memory = sqlite3.connect(":memory:", isolation_level=None)
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
