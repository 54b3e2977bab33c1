"""A run that is asked to stop does, at a safe point, and says that it can be carried on."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steeplechase.commands.stopping import SIGNALS, stopping
from steeplechase.foundation.errors import StoppedError
from tests.factories.command_line import ROOT, SMOKE, command, variables


@pytest.mark.engines
def test_a_stopped_run_reports_that_it_is_resumable(tmp_path: Path) -> None:
    """Under Ray it is in `tests/runners/executors/test_ray_ends.py`, at several moments."""
    asked = command("run", *SMOKE, "--out", tmp_path)
    pipe = subprocess.PIPE
    with subprocess.Popen(asked, cwd=ROOT, env=variables(), stdout=pipe, stderr=pipe, text=True) as run:
        while not list(tmp_path.glob("stages/progress/*.json")) and run.poll() is None:
            time.sleep(0.05)  # until a worker is at work
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert (run.returncode, out) == (75, "")
    assert err.splitlines()[-1] == "stopped; finished stages are kept, and the same command resumes"
    assert "Traceback" not in err


DURING = """
import os, signal, sys
from steeplechase.commands.stopping import stopping
from steeplechase.foundation.errors import StoppedError
number = int(sys.argv[1])
try:
    with stopping() as stop:
        stop.safe_point()
        os.kill(os.getpid(), number)
        print("still here", flush=True)
        if sys.argv[2] == "twice":
            os.kill(os.getpid(), number)
        stop.safe_point()
        print("too far", flush=True)
except StoppedError:
    print("stopped", flush=True)
"""


def during(number: signal.Signals, times: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-c", DURING, str(int(number)), times]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout.splitlines()


def test_a_signal_stops_at_the_next_safe_point_and_a_second_one_at_once() -> None:
    assert during(signal.SIGTERM, "once") == (0, ["still here", "stopped"])
    assert during(signal.SIGINT, "twice") == (-signal.SIGINT, ["still here"])


def stopped_behind(number: signal.Signals, *, last: bool) -> None:
    """Send a signal behind the last safe point, or before that is known."""
    with stopping() as stop:
        stop.safe_point()
        if last:
            stop.no_more_safe_points()
        signal.raise_signal(number)
        stop.no_more_safe_points()


@pytest.mark.parametrize("last", [True, False], ids=["behind the last safe point", "between two"])
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_is_never_forgotten_and_handlers_are_given_back(number: signal.Signals, last: bool) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(StoppedError):
        stopped_behind(number, last=last)
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_hangup_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping() as stop:
            signal.raise_signal(signal.SIGHUP)
            stop.safe_point()
    finally:
        signal.signal(signal.SIGHUP, before)
