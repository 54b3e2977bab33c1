"""A run under Ray that ends early reports it in one line, leaves no process, and can be resumed."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, Run, command, descendants, end_by_themselves, lend, variables

pytestmark = [pytest.mark.engines, pytest.mark.slow]

SHARED = ("corpus", "tokens", "evaluation_set")
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}
"""127.0.0.1 in the kernel's tables of sockets, and as an address of IPv6."""
STOPPED = "stopped; finished stages are kept, and the same command resumes"


def named(parent: int, word: str) -> list[int]:
    """Return the descendants of a process whose command contains a word."""
    found = []
    for process, _ in descendants(parent):
        try:
            text = Path(f"/proc/{process}/cmdline").read_text()
        except OSError:
            continue
        found += [process] if word in text else []
    return found


def listening(parent: int) -> set[str]:
    """Return the addresses, in the kernel's digits, on which a process and its descendants wait for connections."""
    found = set()
    for process in (parent, *(each for each, _ in descendants(parent))):
        with suppress(OSError):
            sockets = {str(file.readlink()) for file in Path(f"/proc/{process}/fd").iterdir()}
            for table in ("tcp", "tcp6"):
                rows = [row.split() for row in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]]
                waiting = (row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets)
                found |= {row[1].partition(":")[0] for row in waiting}
    return found


def commands_of_all() -> Iterator[str]:
    """Yield the command of every process of the machine: those of Ray name its temporary folder."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield file.read_text()


def at_work(folder: Path, since: float, driver: int) -> bool:
    """Whether a trial is being computed."""
    return any(path.stat().st_mtime > since for path in folder.glob("stages/progress/*.json"))


def starting(folder: Path, since: float, driver: int) -> bool:
    """Whether the host of Ray is there, which then starts Ray for seconds."""
    return bool(named(driver, "ray_host"))


def told_until(
    act: Callable[[int], None],
    experiment: Path,
    folder: Path,
    when: Callable[[Path, float, int], bool] = at_work,
    workers: int = 2,
) -> tuple[int, str, set[tuple[int, str]]]:
    """Start the run, act on it at a moment; return its exit code, its output and its processes then."""
    started = command("run", experiment, "--out", folder, "--engine", "ray", "--workers", str(workers))
    quiet, pipe, since = subprocess.DEVNULL, subprocess.PIPE, time.time()
    with subprocess.Popen(started, cwd=ROOT, env=variables(), stdout=quiet, stderr=pipe, text=True) as run:
        while not when(folder, since, run.pid) and run.poll() is None:
            time.sleep(0.05)
        below = descendants(run.pid)
        act(run.pid)
        try:
            _, told = run.communicate(timeout=240)
        finally:
            run.kill()
    return run.returncode, told, below


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set a temporary folder for this test only, with a path short enough for sockets."""
    folder = Path("/tmp", secrets.token_hex(3))
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def scratch(temporary: Path) -> list[Path]:
    return list(temporary.glob("steeplechase-ray-*"))


def signalled(number: signal.Signals) -> Callable[[int], None]:
    """Return what sends a signal to the driver."""
    return lambda driver: os.kill(driver, number)


def kill_first(word: str) -> Callable[[int], None]:
    """Return what kills the first process below the driver that has a word in its command, and those below it.

    Workers of Ray whose daemon has died would end what they have begun.
    """

    def act(driver: int) -> None:
        (first, *_) = named(driver, word) or [0]
        assert first, word
        for process in [first, *(each for each, _ in descendants(first))]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    return act


def test_a_run_that_ends_early_in_every_way_goes_on_to_the_same_table(
    small: Run, small_experiment: Path, tmp_path: Path, temporary: Path
) -> None:
    """One folder through four sessions, so that each also resumes what the one before has left.

    Two trials at a time where a process of theirs is alone: the driver has gone, or the other trial's process has.
    """
    folder = tmp_path / "results"
    lend(small.folder, folder, SHARED)
    heard: set[str] = set()

    def interrupt(driver: int) -> None:
        heard.update(listening(driver))
        os.kill(driver, signal.SIGUSR1)

    code, told, below = told_until(interrupt, small_experiment, folder, workers=1)
    assert (code, told.splitlines()[-1]) == (75, STOPPED), told
    assert heard
    assert heard <= LOOPBACK
    assert "Traceback" not in told
    assert end_by_themselves(below)
    assert scratch(temporary) == []

    code, told, below = told_until(kill_first("raylet/raylet"), small_experiment, folder, workers=1)
    assert code == 75, told
    last = told.splitlines()[-1]
    assert last.startswith("Ray ended unexpectedly")
    assert "everything finished is kept, and the same command carries on" in last
    assert not re.findall(r"\bray\b", told.rpartition("Ray ended")[0], re.IGNORECASE)  # its output is in the log only
    assert end_by_themselves(below)

    code, _, below = told_until(signalled(signal.SIGKILL), small_experiment, folder)
    assert code == -signal.SIGKILL
    assert end_by_themselves(below)
    (left,) = scratch(temporary)

    # a trial is an actor; the other processes of Ray are helpers
    code, told, _ = told_until(kill_first("Trainable"), small_experiment, folder)
    assert code == 0, told
    assert "failed" not in told
    assert not left.exists()
    assert Run(folder, "", 0.0).table == small.table


def test_a_signal_before_ray_has_started_ends_the_run_and_leaves_nothing(
    small: Run, small_experiment: Path, tmp_path: Path, temporary: Path
) -> None:
    """One of the three: `tests/commands/test_run.py` has them in one handler."""
    lend(small.folder, tmp_path / "results", SHARED)
    code, told, below = told_until(signalled(signal.SIGHUP), small_experiment, tmp_path / "results", starting)
    assert (code, told.splitlines()[-1]) == (75, STOPPED), told
    assert "Traceback" not in told
    assert end_by_themselves(below)
    assert list(temporary.iterdir()) == []
    assert not [each for each in commands_of_all() if str(temporary) in each]
