"""Locks: what a wait tells, removed lock files, file systems without locks."""

import errno
import fcntl
import os
from pathlib import Path
from threading import Timer

import pytest

from steeplechase.foundation import locking
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.locking import holder_of, locked, sign


def test_a_long_wait_is_told_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(locking, "SILENT_SECONDS", 0.0)
    held = locking.open_lock(tmp_path / "lock")
    fcntl.flock(held, fcntl.LOCK_EX)
    release = Timer(0.3, os.close, [held])
    release.start()
    with locked(tmp_path / "lock", doing="copies"):
        pass
    release.join()
    assert capsys.readouterr().err.count("which copies") == 1


def test_a_holder_is_read_from_the_lock_and_only_while_it_holds_it(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    assert holder_of(file) is None
    with locked(file) as descriptor:
        assert holder_of(file) is None
        sign(descriptor, "host:7")
        found = holder_of(file)
        assert found is not None
        assert (found.process, found.owner, found.here) == (os.getpid(), "host:7", True)
    assert holder_of(file) is None


def test_a_file_that_its_holder_has_removed_is_made_again(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    held = locking.open_lock(file)
    fcntl.flock(held, fcntl.LOCK_EX)

    def end() -> None:
        file.unlink()
        os.close(held)

    release = Timer(0.2, end)
    release.start()
    with locked(file, 5):
        assert file.exists()
    release.join()


def test_a_file_system_without_locks_is_named_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    said = r"lock: its file system refuses locks \(No locks available\).*lockd"
    with pytest.raises(MachineError, match=said), locked(tmp_path / "lock"):
        pass
