"""Files on the disk: written whole or not at all, flushed, hashed, and never through a symbolic link."""

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from search_space.refusals import EnvironmentRefused
from search_space.regular_files import refuse_irregular


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file under a temporary name, flush it, rename it, and return its path: it is there whole or not at all.

    The temporary file is always a new one, so that a symbolic link under its name is replaced and never followed.
    """
    temporary = path.with_name(f".{path.name}.writing")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def open_lock(path: Path, permissions: int = 0o666) -> int:
    """Return the descriptor of a lock file, made where there is none. Raises OSError for anything but a file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, permissions)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a symbolic link, which is not followed", str(path)) from error
        raise
    try:
        refuse_irregular(path, descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def disk_refusals(place: Path) -> Iterator[None]:
    """Turn what the operating system refuses into one line with the file, or the place where it names none."""
    try:
        yield
    except OSError as error:
        file = error.filename2 or error.filename or place  # the second one of a rename is the name that was wanted
        raise EnvironmentRefused(f"{file}: {error.strerror or error}") from error


def make_folder(folder: Path) -> None:
    """Create a folder that can be written to. Raises EnvironmentRefused where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise EnvironmentRefused(f"{folder}: cannot be written to ({error.strerror})") from error


def flush(path: Path) -> None:
    """Put a file, or a folder's list of names, on the disk; on return it survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
