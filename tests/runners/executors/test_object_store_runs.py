"""A run with its stages in an object store gives the table of a local run, after a kill too."""

import shutil
import time
from pathlib import Path

import pytest

from tests.factories.command_line import Run, kill, start, steeplechase

pytestmark = [pytest.mark.engines, pytest.mark.slow]


def test_a_killed_run_goes_on_from_the_store_alone(small: Run, small_experiment: Path, tmp_path: Path) -> None:
    results, url = tmp_path / "results", f"file://{tmp_path}/objects"
    run = start("run", small_experiment, "--out", results, "--store", url, "--workers", "1")
    while not list(tmp_path.glob("objects/stages/pretrain/*.json")) and run.poll() is None:
        time.sleep(0.05)
    kill(run)
    finished = list((tmp_path / "objects" / "stages").glob("*/*.json"))
    shutil.rmtree(results / "stages")  # the copies of this machine
    done = steeplechase("run", small_experiment, "--out", results, "--store", url, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert Run(results, done.stderr, 0.0).table == small.table
    later = set((tmp_path / "objects" / "stages").glob("*/*.json"))
    assert later > {*finished}
