"""Files are written atomically, never through a link; locks are regular files."""

import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steeplechase.foundation.atomic_files import (
    full_disk_refused,
    make_folder,
    read_regular,
    replaced_directory,
    sha256_of,
    write_whole,
)
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.locking import open_lock
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from tests.factories.keys import KEY

NOBODY = 65534
PRECIOUS = b"what somebody else has written"


@contextmanager
def without_permission(folder: Path) -> Iterator[None]:
    """Take every permission on a folder away; for root, by being somebody else."""
    folder.chmod(0)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(os.getuid())
        folder.chmod(0o700)


def test_a_file_is_replaced_atomically_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(PRECIOUS)
    for name in ("report.csv", ".report.csv.writing"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    assert write_whole(tmp_path / "report.csv", b"new") == tmp_path / "report.csv"
    assert (tmp_path / "report.csv").read_bytes() == b"new"
    assert not (tmp_path / "report.csv").is_symlink()
    assert (tmp_path / "precious").read_bytes() == PRECIOUS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "report.csv"]


@pytest.mark.parametrize("parent", ["missing", "a file"])
def test_a_file_that_cannot_be_written_is_named_and_not_its_temporary_name(tmp_path: Path, parent: str) -> None:
    (tmp_path / "a file").write_bytes(PRECIOUS)
    with pytest.raises(OSError) as refused:  # noqa: PT011 — the type is the system's
        write_whole(tmp_path / parent / "report.csv", b"new")
    assert refused.value.filename == str(tmp_path / parent / "report.csv")


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE stands for a full disk on Linux")
def test_a_directory_has_its_name_while_the_former_one_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removing gigabytes takes seconds, in which a kill would leave a training without any checkpoint."""
    folder, remove = tmp_path / "checkpoint", shutil.rmtree
    with replaced_directory(folder) as first:
        (first / "weights").write_text("former")
    seen = []

    def removed(path: Path, ignore_errors: bool = False) -> None:
        if (path / "weights").exists():
            seen.append((folder / "weights").read_text())
        remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", removed)
    with replaced_directory(folder) as second:
        (second / "weights").write_text("new")
    assert seen == ["new"]
    assert [*tmp_path.iterdir()] == [folder]


def test_a_disk_that_is_full_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource
    import signal

    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the limit would cut bytecode files short
    write_whole(tmp_path / "report.csv", PRECIOUS)
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_whole(tmp_path / "report.csv", bytes(8192))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("report.csv", PRECIOUS)]


def _link(path: Path) -> None:
    path.with_name("precious").write_bytes(PRECIOUS)
    path.symlink_to("precious")


@pytest.mark.parametrize("make", [_link, Path.mkdir, os.mkfifo])
def test_a_lock_is_a_file_and_nothing_else(tmp_path: Path, make: Callable[[Path], None]) -> None:
    lock = tmp_path / "unfinished" / f"{KEY}.lock"
    lock.parent.mkdir()
    make(lock)
    before = sorted(lock.parent.iterdir())
    with pytest.raises(OSError) as refused:  # noqa: PT011 — the kinds differ, the file is named by each
        open_lock(lock)
    assert refused.value.errno in (errno.ELOOP, errno.EISDIR, errno.EINVAL)
    with pytest.raises(MachineError, match=rf"{KEY}\.lock: "), ArtifactStore(tmp_path).computing(KEY):
        pass
    assert sorted(lock.parent.iterdir()) == before
    assert make is not _link or (lock.parent / "precious").read_bytes() == PRECIOUS


@pytest.mark.parametrize(
    "ask",
    [
        make_folder,
        lambda folder: ResultPaths.of(folder).make(),
        Ledger.at,
        lambda folder: Ledger(folder / "ledger.sqlite"),
    ],
)
def test_a_folder_below_one_that_may_not_be_entered_is_refused(tmp_path: Path, ask: Callable[[Path], object]) -> None:
    parent = tmp_path / "parent"
    (parent / "results").mkdir(parents=True)
    with without_permission(parent), pytest.raises(MachineError, match="Permission denied") as refused:
        ask(parent / "results")
    assert str(parent / "results") in str(refused.value)
    assert len(refused.value.lines) == 1


def test_reading_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name, said in (("pipe", "but a pipe"), ("link", "but a pipe"), (".", "but a directory")):
        with pytest.raises(OSError, match=said):
            read_regular(tmp_path / name)
    (tmp_path / "file").write_bytes(PRECIOUS)
    assert (read_regular(tmp_path / "file"), read_regular(tmp_path / "file", 4)) == (PRECIOUS, PRECIOUS[:4])


def test_a_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only a superuser makes devices, or replaces those of the system")
    with pytest.raises(OSError, match="is a device"):
        write_whole(tmp_path / "null", PRECIOUS)
    assert [*tmp_path.iterdir()] == [tmp_path / "null"]
    assert (tmp_path / "null").is_char_device()


@pytest.mark.parametrize("read", [read_regular, sha256_of])
def test_a_file_that_is_mostly_absent_is_refused(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.write(PRECIOUS)
        file.truncate(2**40)
    with pytest.raises(OSError, match="a sparse file of 1,099,511,627,776 bytes"):
        read(tmp_path / "sparse")


def test_a_full_disk_is_named_with_its_folder_and_the_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"No space left on device: '[^']+/curves\.jsonl'"):
        write_whole(tmp_path / "curves.jsonl", PRECIOUS)
    said = r"^[^\n]+/absent: No space left on device: [\d,.]+ MB are free; .*plan"
    with pytest.raises(MachineError, match=said), full_disk_refused(tmp_path / "absent"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(PermissionError), full_disk_refused(tmp_path):
        raise PermissionError(errno.EACCES, "no")
