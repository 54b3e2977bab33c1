"""The smoke run, made once: the reference for all executors; other tests reuse its corpus."""

import time
from pathlib import Path

import pytest

from tests.factories.command_line import Run, steeplechase

TABLE = "experiments/table2.yaml"


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return `table2` at scale smoke, run to its end by two workers."""
    folder = tmp_path_factory.mktemp("smoke") / "results"
    started = time.monotonic()
    done = steeplechase("run", TABLE, "--scale", "smoke", "--out", folder, "--workers", "2")
    assert done.returncode == 0, done.stderr
    return Run(Path(folder), done.stderr, time.monotonic() - started)
