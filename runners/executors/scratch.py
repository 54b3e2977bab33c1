"""Temporary folders removed with their process; those of killed processes are removed by the next one."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "steeplechase-ray-"
LOCK = "lock"
LONGEST_PARENT = 12
"""Characters; Ray's socket paths below this folder have a limit of 107."""


def temporary() -> Path:
    """Return the system's temporary folder, or /tmp if its path is too long for Ray's sockets."""
    parent = tempfile.gettempdir()
    return Path(parent if len(parent) <= LONGEST_PARENT else "/tmp")


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Create a folder and remove it on exit; abandoned folders are removed first."""
    remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    with (folder / "making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "making").rename(folder / LOCK)  # so that a file of this name is always locked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove this user's folders whose lock is free, since their process has ended."""
    for lock in parent.glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.getuid():
                    shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(descriptor)
