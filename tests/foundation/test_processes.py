"""Processes: folders that last as long as one, locks between them, and what a child imports."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

from runners.executors.local import worker_environment
from steeplechase.foundation import locking
from steeplechase.foundation.child_process import module_command
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.locking import holder_of, locked, sign
from steeplechase.foundation.scratch import LOCK, remove_abandoned, scratch_folder
from tests.factories.paths import ROOT

HOLD = """
import sys, time
from pathlib import Path
from steeplechase.foundation.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "part").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_folder_lasts_as_long_as_its_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        with scratch_folder(tmp_path) as mine:
            assert sorted(tmp_path.iterdir()) == sorted([held, mine])
        assert list(tmp_path.iterdir()) == [held]
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (held / "part").is_dir()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_folders_and_links_are_not_removed(tmp_path: Path) -> None:
    other = tmp_path / "another"
    other.mkdir()
    (other / LOCK).write_text("")
    (tmp_path / "steeplechase-making").mkdir()  # its lock is still to come
    linked = tmp_path / "steeplechase-linked"
    linked.mkdir()
    (linked / LOCK).symlink_to(other / LOCK)
    results = tmp_path / "steeplechase-results"
    results.mkdir()
    (results / "lock").write_text("")
    before = sorted(tmp_path.rglob("*"))
    with scratch_folder(tmp_path):
        pass
    assert sorted(tmp_path.rglob("*")) == before


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


def test_modules_in_the_working_directory_hide_none_of_this_project(tmp_path: Path) -> None:
    for name in ("tasks", "models", "torch"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('of the user')\n")
    done = subprocess.run(
        module_command("runners.executors.worker"),
        cwd=tmp_path,
        env=worker_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
