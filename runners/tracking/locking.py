"""A lock between processes that write one mirror, with a timeout; the error names the holder."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foundation.atomic_files import open_lock
from foundation.errors import MachineError

KERNEL_LOCKS = Path("/proc/locks")  # Linux: `1: FLOCK ADVISORY WRITE 4711 fe:00:2179558 0 EOF`
SECONDS_BETWEEN_TRIES = 0.05


@contextmanager
def locked(lock_file: Path, patience_seconds: float) -> Iterator[None]:
    """Hold a lock that the operating system releases when the process ends.

    Raises MachineError if another process still holds it after `patience_seconds`.
    """
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    handle = open_lock(lock_file, permissions=0o600)
    try:
        _acquire(handle, lock_file, patience_seconds)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, lock_file: Path, patience_seconds: float) -> None:
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                holder = _holder(handle)
                held = f"held by {'another process' if holder is None else f'process {holder}'}"
                raise MachineError(f"{lock_file}: {held} for {patience_seconds:g} seconds and more") from None
        time.sleep(SECONDS_BETWEEN_TRIES)


def _holder(handle: int) -> int | None:
    """Return the process that holds the lock of an open file, None if the system does not report it."""
    file = os.fstat(handle)
    wanted = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    try:
        lines = KERNEL_LOCKS.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        _, kind, _, _, process, file_id, *_ = line.split()
        if kind == "FLOCK" and file_id == wanted and int(process) > 0:
            return int(process)
    return None
