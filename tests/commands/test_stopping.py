"""A run that is asked to stop does, with the exit code that says it can be carried on, and leaves no process."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.factories.command_calls import ROOT, TABLE

pytestmark = pytest.mark.engines


@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_stopped_run_reports_that_it_is_resumable(tmp_path: Path, number: signal.Signals, engine: str) -> None:
    said = ["--scale", "smoke", "--engine", engine, "--out", str(tmp_path)]
    command = [sys.executable, "-m", "commands.main", "run", str(TABLE), *said]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        while not list(tmp_path.glob("stages/progress/*.json")) and run.poll() is None:
            time.sleep(0.05)  # until a worker is at work
        run.send_signal(number)
        started = time.monotonic()
        out, err = run.communicate(timeout=60)
        assert time.monotonic() - started < 30
    assert (run.returncode, out) == (75, "")
    assert err.splitlines()[-1] == "stopped; finished stages are kept, and the same command resumes"
    assert "Traceback" not in err
