"""A ledger's content at one moment, in memory: read where nothing can be written, and while a run goes on writing.

SQLite reads a file in WAL mode only with its `-wal` and `-shm` beside it, and makes them where they are missing. So
a ledger that no process has open is copied away with what a killed run has left in its log, and read from the copy;
one that a run has open is read under SQLite's own locks. Either way no file is made in the folder.
Source: https://www.sqlite.org/wal.html, "Read-Only Databases"; https://www.sqlite.org/howtocorrupt.html, 2.2.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from foundation.errors import MachineError

LOGS = ("-wal", "-journal")
SHARED_INDEX = "-shm"
"""There while a process has the ledger open; a file that such a process holds must not be opened beside SQLite."""
ATTEMPTS = 5


def in_memory(path: Path) -> sqlite3.Connection:
    """Return what the ledger holds, committed and no more.

    Raises OSError and sqlite3.DatabaseError, MachineError where the file changes whenever it is copied.
    """
    path = Path(os.path.realpath(path))  # where the logs of a linked file lie
    if _beside(path, SHARED_INDEX).exists():
        return _loaded(f"{path.as_uri()}?mode=ro")
    for _ in range(ATTEMPTS):
        with TemporaryDirectory(prefix="steeplechase-ledger-") as scratch:
            before = _state(path)
            copy = Path(scratch) / path.name
            shutil.copyfile(path, copy)
            for log in LOGS:
                if _beside(path, log).exists():
                    shutil.copyfile(_beside(path, log), _beside(copy, log))
            if _state(path) == before:
                return _loaded(copy.as_uri())
        if _beside(path, SHARED_INDEX).exists():
            return _loaded(f"{path.as_uri()}?mode=ro")
    raise MachineError(f"{path}: changes while it is read; try again")


def _loaded(address: str) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        with closing(sqlite3.connect(address, uri=True)) as file:
            file.backup(memory)
        memory.execute("PRAGMA query_only=ON")
    except BaseException:
        memory.close()
        raise
    return memory


def _state(path: Path) -> list[tuple[int, int, int] | None]:
    """Return what changes when the ledger is written to, of the file and of each log."""
    return [_stamp(_beside(path, ending)) for ending in ("", *LOGS, SHARED_INDEX)]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")
