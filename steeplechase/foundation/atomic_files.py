"""Crash-safe files: atomic writes (temporary name, fsync, rename), sha256, regular files only."""

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from steeplechase.foundation.errors import ConflictError, DataError, MachineError

LARGEST_HOLE, HOLES_LOOKED_AT = 2**30, 64
"""Bytes that a file lacks and that read as zeros: it may claim petabytes, which a reader would wait for."""
FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk, and of a quota that is used up."""
WRITING = ".writing"
"""The end of the name under which something is written, before it has its own."""


def temporary_name(path: Path) -> Path:
    """Return the name under which a file or directory is written, beside it; a killed process may leave it."""
    return path.with_name(f".{path.name}{WRITING}")


def write_whole(path: Path, content: bytes, durable: bool = True) -> Path:
    """Write a file atomically (temporary name, fsync, rename), and return its path.

    The temporary file is always a new one, so that a symbolic link under its name is replaced and never followed.
    Without `durable` nothing is flushed: for files that need not survive a power failure. Raises OSError, also for a
    device, which a rename would replace.
    """
    temporary = temporary_name(path)
    try:
        _refuse_device(path)
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        error.filename = str(path)  # the name that the user knows
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        return temporary.replace(path)
    except BaseException as error:
        if isinstance(error, OSError):
            error.filename = str(path)  # a write names no file
        with suppress(OSError):
            temporary.unlink()
        raise


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it to another file system or one without hard links. Raises OSError."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(source, target, follow_symlinks=False)


@contextmanager
def disk_refusals(place: Path) -> Iterator[None]:
    """Turn an OSError into a MachineError of one line, with the file of the error or else `place`."""
    try:
        yield
    except OSError as error:
        file = error.filename2 or error.filename or place  # the second name of a rename is the target
        raise MachineError(f"{file}: {error.strerror or error}{free_space(error, place)}") from error


@contextmanager
def full_disk_refused(folder: Path) -> Iterator[None]:
    """Turn the OSError of a full disk into a MachineError that names the folder and the free space."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise MachineError(f"{folder}: {error.strerror}{free_space(error, folder)}") from error


def free_space(error: OSError, folder: Path) -> str:
    """Return the end of a message about a full disk, empty for other errors."""
    if error.errno not in FULL:
        return ""
    free = shutil.disk_usage(existing(folder)).free
    return f": {free / 1e6:,.1f} MB are free; `steeplechase plan` predicts what is needed"


def existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next((each for each in (folder, *folder.absolute().parents) if each.exists()), Path())


def make_folder(folder: Path) -> None:
    """Create a writable folder. Raises MachineError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except NotADirectoryError:
        file = next(each for each in folder.absolute().parents if each.is_file())
        raise MachineError(
            f"{folder}: {file} is a file, not a folder; name another folder, or move it away"
        ) from None
    except OSError as error:
        raise MachineError(f"{folder}: cannot be written to ({error.strerror})") from error


def flush(path: Path) -> None:
    """Call fsync on a file or a folder, so that it survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_tree(path: Path) -> None:
    """Put a file, or a folder with all that is in it, on the disk."""
    for each in [*path.rglob("*"), path]:
        flush(each)


def move_durably(temporary: Path, path: Path) -> Path:
    """Flush a file, or a directory with all that is in it, rename it to `path`, flush that name, and return it."""
    flush_tree(temporary)
    moved = temporary.replace(path)
    flush(path.parent)
    return moved


def remove_directory(folder: Path) -> None:
    """Remove a directory, if it is there; a process killed on the way leaves no part of it under its name."""
    shutil.rmtree(_set_aside(folder), ignore_errors=True)


def _set_aside(folder: Path) -> Path:
    """Rename a directory, if it is there, and return the other name; a symbolic link in its place is removed."""
    former = temporary_name(folder.with_name(f"{folder.name}.former"))
    shutil.rmtree(former, ignore_errors=True)
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        folder.rename(former)
    return former


def remove_strays(folder: Path) -> None:
    """Remove symbolic links, not what they point to, and what killed writers have left, at any depth of a folder."""
    for place, folders, files in os.walk(folder, topdown=False):
        for path in (Path(place, name) for name in (*folders, *files)):
            unfinished = path.name.startswith(".") and path.name.endswith(WRITING)
            if path.is_symlink() or (unfinished and not path.is_dir()):
                path.unlink()
            elif unfinished:
                shutil.rmtree(path)


@contextmanager
def replaced_directory(folder: Path) -> Iterator[Path]:
    """Give a directory to write into; when all of it is on disk it takes the place of `folder`."""
    temporary = temporary_name(folder)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    yield temporary
    flush_tree(temporary)  # before the former one goes
    former = _set_aside(folder)
    temporary.rename(folder)
    flush(folder.parent)
    shutil.rmtree(former, ignore_errors=True)  # of gigabytes, which takes a while: the new one has its name by then


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes as 64 hexadecimal digits. Raises OSError as `open_regular` does."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_device(path: Path) -> None:
    """Raise OSError if the path is a device: `/dev/null` of a superuser's is every process's."""
    with suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.EINVAL, "is a device, and no file is written in its place", str(path))


def refuse_existing(folder: Path) -> None:
    """Raise ConflictError if the path exists; nothing is ever overwritten."""
    if folder.exists() or folder.is_symlink():
        raise ConflictError(f"{folder}: already exists and is unchanged; choose another name, or move it away")


@contextmanager
def atomic_directory(folder: Path, also: tuple[type[Exception], ...] = ()) -> Iterator[Path]:
    """Atomic directory: written under a temporary name, fsynced, renamed at the end, removed on errors.

    A killed process leaves it as `.NAME.writing`, which the next attempt removes. Raises ConflictError if the name
    exists, MachineError if the disk fails: on OSError, and on the exceptions that a library raises instead
    (`also`).
    """
    refuse_existing(folder)
    refused: tuple[type[Exception], ...] = (OSError, *also)
    temporary = temporary_name(folder)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        refuse_existing(folder)
        move_durably(temporary, folder)
    except refused as error:
        raise MachineError(f"{folder}: cannot be written ({error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_regular(path: Path, at_most: int | None = None) -> bytes:
    """Return a file's bytes, the first `at_most` if given.

    A symbolic link is followed. Raises OSError if the path cannot be read or is not a regular file.
    """
    with open_regular(path) as file:
        return file.read() if at_most is None else file.read(at_most)


def read_bounded(path: Path, at_most: int) -> bytes:
    """Return a file's bytes. Raises DataError if it has more than `at_most`, OSError as `read_regular` does."""
    content = read_regular(path, at_most + 1)
    if len(content) > at_most:
        raise DataError(f"{path}: larger than {at_most} bytes, the most that is read")
    return content


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading.

    Raises OSError if the path cannot be read, is not a regular file or has a hole of a gigabyte.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        refuse_irregular(path, descriptor)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def refuse_irregular(path: Path, descriptor: int) -> None:
    """Raise OSError, with the type of the file, unless it is a regular file without a hole of a gigabyte."""
    status = os.fstat(descriptor)
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "not a regular file but a directory", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file but a pipe, a device or a socket", str(path))
    if status.st_size > LARGEST_HOLE and _has_large_hole(descriptor, status.st_size):
        raise OSError(errno.EINVAL, f"a sparse file of {status.st_size:,} bytes, most of them absent", str(path))


def _has_large_hole(descriptor: int, size: int) -> bool:
    """Return whether one of the first holes of a file, which reads as zeros, is larger than the largest allowed."""
    end = 0
    try:
        for _ in range(HOLES_LOOKED_AT):
            hole = os.lseek(descriptor, end, os.SEEK_HOLE)
            try:
                end = os.lseek(descriptor, hole, os.SEEK_DATA)
            except OSError:  # no data after it
                end = size
            if end - hole > LARGEST_HOLE or end >= size:
                return end - hole > LARGEST_HOLE
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return False
