"""A run that is asked to stop does, with the exit code that says it can be carried on, and leaves no process."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, SMOKE, command, variables

pytestmark = pytest.mark.engines


@pytest.mark.parametrize(
    ("number", "engine"),
    [(signal.SIGTERM, "local"), (signal.SIGINT, "local"), (signal.SIGTERM, "ray")],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_stopped_run_reports_that_it_is_resumable(tmp_path: Path, number: signal.Signals, engine: str) -> None:
    """SIGINT under Ray is in `tests/runners/executors/test_ray_ends.py`, at several moments."""
    asked = command("run", *SMOKE, "--engine", engine, "--out", tmp_path)
    pipe = subprocess.PIPE
    with subprocess.Popen(asked, cwd=ROOT, env=variables(), stdout=pipe, stderr=pipe, text=True) as run:
        while not list(tmp_path.glob("stages/progress/*.json")) and run.poll() is None:
            time.sleep(0.05)  # until a worker is at work
        run.send_signal(number)
        out, err = run.communicate(timeout=120)
    assert (run.returncode, out) == (75, "")
    assert err.splitlines()[-1] == "stopped; finished stages are kept, and the same command resumes"
    assert "Traceback" not in err
