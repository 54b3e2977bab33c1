"""A run under Ray that ends early reports it in one line, leaves no process, and can be resumed."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.factories.command_line import (
    ROOT,
    Run,
    command,
    descendants,
    end_by_themselves,
    lend,
    steeplechase,
    variables,
)

pytestmark = [pytest.mark.engines, pytest.mark.slow]

SHARED = ("corpus", "tokens", "evaluation_set")
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


def begun(folder: Path, driver: int) -> bool:
    """Whether the driver has locked its results folder."""
    return (folder / "lock").exists()


def starting(folder: Path, driver: int) -> bool:
    """Whether Ray is about to start."""
    return bool(named(driver, "ray_host"))


def connecting(folder: Path, driver: int) -> bool:
    """Whether Ray's first processes are there."""
    return bool(named(driver, "gcs_server"))


def at_work(folder: Path, driver: int) -> bool:
    """Whether a trial is being computed."""
    return bool(list(folder.glob("stages/progress/*.json")))


def between(folder: Path, driver: int) -> bool:
    """Whether a first trial has ended."""
    return bool(list(folder.glob("stages/pretrain/*")))


def told_until(
    moment: Callable[[Path, int], bool], act: Callable[[int], None], experiment: Path, folder: Path
) -> tuple[int, str, set[tuple[int, str]]]:
    """Start the run, act on it at a moment; return its exit code, its output and its processes at that moment."""
    started = command("run", experiment, "--out", folder, "--engine", "ray")
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(started, cwd=ROOT, env=variables(), stdout=quiet, stderr=pipe, text=True) as run:
        while not moment(folder, run.pid) and run.poll() is None:
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


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGTERM, begun),
        (signal.SIGTERM, starting),
        (signal.SIGINT, connecting),
        (signal.SIGINT, at_work),
    ],
    ids=lambda value: getattr(value, "name", None) or value.__name__,
)
def test_a_signal_at_any_moment_ends_the_run_with_75_and_leaves_no_process_or_file(
    small: Run,
    small_experiment: Path,
    tmp_path: Path,
    temporary: Path,
    number: signal.Signals,
    moment: Callable[[Path, int], bool],
) -> None:
    lend(small.folder, tmp_path, SHARED)
    code, told, below = told_until(moment, lambda driver: os.kill(driver, number), small_experiment, tmp_path)
    assert (code, told.splitlines()[-1]) == (75, STOPPED)
    assert "Traceback" not in told
    assert end_by_themselves(below)
    assert scratch(temporary) == []


def test_a_run_stopped_between_trials_is_resumed_by_the_same_command(
    small: Run, small_experiment: Path, tmp_path: Path
) -> None:
    lend(small.folder, tmp_path, SHARED)
    code, told, _ = told_until(between, lambda driver: os.kill(driver, signal.SIGUSR1), small_experiment, tmp_path)
    assert (code, told.splitlines()[-1]) == (75, STOPPED)
    done = steeplechase("run", small_experiment, "--out", tmp_path, "--engine", "ray", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path, "", 0.0).table == small.table


def test_the_death_of_rays_process_is_reported_in_one_line_and_the_run_can_be_resumed(
    small: Run, small_experiment: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    lend(small.folder, folder, SHARED)

    def kill_raylet(driver: int) -> None:
        for process in named(driver, "raylet/raylet"):
            os.kill(process, signal.SIGKILL)

    code, told, below = told_until(at_work, kill_raylet, small_experiment, folder)
    assert code == 75, told
    last = told.splitlines()[-1]
    assert last.startswith("Ray ended unexpectedly")
    assert "everything finished is kept, and the same command carries on" in last
    assert not re.findall(r"\bray\b", told.rpartition("Ray ended")[0], re.IGNORECASE)  # its output is in the log only
    assert end_by_themselves(below)
    done = steeplechase("run", small_experiment, "--out", folder, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert Run(folder, "", 0.0).table == small.table


def test_no_trial_fails_when_its_process_dies_once(small: Run, small_experiment: Path, tmp_path: Path) -> None:
    lend(small.folder, tmp_path, SHARED)

    def kill_trial(driver: int) -> None:
        (first, *_) = named(driver, "Trainable") or [0]  # an actor; the other processes of Ray are helpers
        assert first
        os.kill(first, signal.SIGKILL)

    code, told, _ = told_until(at_work, kill_trial, small_experiment, tmp_path)
    assert code == 0, told
    assert "failed" not in told
    assert Run(tmp_path, "", 0.0).table == small.table


def test_files_of_a_killed_run_are_removed_by_the_next(
    small: Run, small_experiment: Path, tmp_path: Path, temporary: Path
) -> None:
    lend(small.folder, tmp_path, SHARED)
    kill = signal.SIGKILL
    code, _, below = told_until(at_work, lambda driver: os.kill(driver, kill), small_experiment, tmp_path)
    assert code == -kill
    assert end_by_themselves(below)
    (left,) = scratch(temporary)
    done = steeplechase("run", small_experiment, "--out", tmp_path, "--engine", "ray", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert not left.exists()
