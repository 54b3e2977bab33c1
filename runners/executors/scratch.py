"""Folders that last as long as the process that made them: what a killed one has left is removed by the next."""

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
"""Characters; the path of a socket in a folder of Ray's in here may have 107."""


def temporary() -> Path:
    """Return the system's folder for temporary files, where Ray can make its sockets."""
    parent = tempfile.gettempdir()
    return Path(parent if len(parent) <= LONGEST_PARENT else "/tmp")


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a folder that is removed at the end, once those of processes that are gone have been removed."""
    remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    with (folder / "making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "making").rename(folder / LOCK)  # under this name it is locked from the first moment
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove this user's folders whose lock nobody holds: the process that made them is gone."""
    for lock in parent.glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.getuid():
                    shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(descriptor)
