"""Temporary folders removed with their process; those of killed processes are removed by the next one."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TEMPORARY = "steeplechase-"
"""Begins the names of folders in the system's temporary folder."""
LOCK = ".scratch-lock"
"""No folder of results has a file of this name, and so none is taken for an abandoned one."""


@contextmanager
def scratch_folder(parent: Path | None = None, prefix: str = TEMPORARY) -> Iterator[Path]:
    """Create a folder and remove it on exit; abandoned folders of the prefix are removed first.

    It is in `parent`, by default in the system's temporary folder.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(place, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    with (folder / "making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "making").rename(folder / LOCK)  # so that a file of this name is always locked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path, prefix: str = TEMPORARY) -> None:
    """Remove this user's folders whose lock is free, since their process has ended."""
    for lock in parent.glob(f"{prefix}*/{LOCK}"):
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.getuid():
                    shutil.rmtree(lock.parent, ignore_errors=True)  # which follows no link
            finally:
                os.close(descriptor)
