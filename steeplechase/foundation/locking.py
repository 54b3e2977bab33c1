"""Locks between processes (flock), released by the system when their process ends; a wait names the holder."""

import errno
import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from steeplechase.foundation.atomic_files import disk_refusals, refuse_irregular
from steeplechase.foundation.errors import MachineError

KERNEL_LOCKS = Path("/proc/locks")  # Linux: `1: FLOCK ADVISORY WRITE 4711 fe:00:2179558 0 EOF`
SECONDS_BETWEEN_TRIES = 0.05
SILENT_SECONDS = 10.0
"""A wait of so many seconds is told in a line."""
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""What flock answers on a file system without locks."""
FLOCK, POSIX = "FLOCK", "POSIX"
"""Kinds of locks in KERNEL_LOCKS; SQLite's are POSIX."""


def tell(line: str) -> None:
    """Print a line on the error stream, which a live drawing shows above itself."""
    with suppress(OSError, ValueError):  # closed
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def open_lock(path: Path, permissions: int = 0o666) -> int:
    """Return the descriptor of a lock file, created if missing. Raises OSError for anything but a regular file."""
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


def try_lock(descriptor: int, file: Path, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file and return True, or return False if another process holds its lock.

    Raises MachineError if its file system has no locks.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise MachineError(f"{file}: {error.strerror}") from error
        cause = f"its file system refuses locks ({error.strerror}), as NFS does without lockd"
        remedy = "start lockd (rpc.statd), mount it with local_lock=flock, or put --out on another file system"
        raise MachineError(f"{file}: {cause}; {remedy}") from error
    return True


@contextmanager
def locked(
    file: Path, patience_seconds: float = float("inf"), doing: str | None = None, permissions: int = 0o666
) -> Iterator[int]:
    """Hold the lock of a file, which is created if missing; give its descriptor.

    `doing` says what a holder does; a wait then prints a line with the holder after SILENT_SECONDS. Raises
    MachineError, which names the holder, if another process still holds the lock after `patience_seconds`.
    """
    with disk_refusals(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    began, told = time.monotonic(), doing is None
    while True:
        with disk_refusals(file):
            descriptor = open_lock(file, permissions)
        try:
            while not try_lock(descriptor, file):
                waited = time.monotonic() - began
                if waited >= patience_seconds:
                    held = f"held by {_named(descriptor)} for {patience_seconds:g} seconds and more"
                    raise MachineError(f"{file}: {held}")
                if not told and waited >= SILENT_SECONDS:
                    told = True
                    tell(f"waits for {_named(descriptor)}, which {doing} ({file})")
                time.sleep(SECONDS_BETWEEN_TRIES)
            if _is_at(descriptor, file):  # else the former holder has removed it
                yield descriptor
                return
        finally:
            os.close(descriptor)


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock, as it has written itself into the lock file."""

    process: int
    node: str
    """Host name."""
    owner: str
    """On whose behalf it holds the lock."""

    @property
    def here(self) -> bool:
        """Whether it is a process of this machine."""
        return self.node == socket.gethostname()

    def __str__(self) -> str:
        """Return its name in messages."""
        return f"process {self.process}" if self.here else f"process {self.process} on {self.node}"


def sign(descriptor: int, owner: str) -> None:
    """Write this process into a lock file that it holds."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()} {owner}".encode(), 0)


def holder_of(file: Path) -> Holder | None:
    """Return the holder of a lock whose holders sign it, None if nobody holds it or it is not signed yet."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if try_lock(descriptor, file, fcntl.LOCK_SH):
            return None
        process, node, owner = os.pread(descriptor, 1024, 0).decode().split(" ", 2)
        return Holder(int(process), node, owner)
    except (OSError, ValueError, MachineError):
        return None
    finally:
        os.close(descriptor)


def kernel_holder(file: os.stat_result, kind: str) -> int | None:
    """Return another process that holds a lock for writing on a file, None if the system does not report it."""
    wanted = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    try:
        lines = KERNEL_LOCKS.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        _, found, _, access, process, file_id, *_ = line.split()
        if (found, access, file_id) == (kind, "WRITE", wanted) and int(process) not in (0, os.getpid()):
            return int(process)
    return None


def _named(descriptor: int) -> str:
    process = kernel_holder(os.fstat(descriptor), FLOCK)
    return "another process" if process is None else f"process {process}"


def _is_at(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
