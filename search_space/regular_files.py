"""Regular files alone: a pipe, a device or a socket is refused at once, where opening it would wait for ever."""

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, at_most: int | None = None) -> bytes:
    """Return a file's bytes, `at_most` of them where that is given.

    A symbolic link is followed. Raises OSError where the path cannot be read, and where it is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        refuse_irregular(path, descriptor)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read() if at_most is None else file.read(at_most)
    finally:
        os.close(descriptor)


def refuse_irregular(path: Path, descriptor: int) -> None:
    """Raise OSError, which says what was opened, where that is not a regular file."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "not a regular file but a directory", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file but a pipe, a device or a socket", str(path))
