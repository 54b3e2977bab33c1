"""Runs that tests of several files compare with, made by the first process of a test session that needs one."""

import fcntl
import json
import os
import time

import pytest

from tests.factories.command_line import Run, steeplechase


def shared_run(
    folders: pytest.TempPathFactory, name: str, *arguments: str, mirrored: bool = False, workers: int = 2
) -> Run:
    """Return the finished run of an experiment; a process that needs it meanwhile waits for it."""
    base = folders.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, made = base / name, base / f"{name}.json"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            started = time.monotonic()
            done = steeplechase("run", *arguments, "--out", folder, "--workers", str(workers), mirrored=mirrored)
            assert done.returncode == 0, done.stderr
            made.write_text(json.dumps([done.stderr, time.monotonic() - started]))
    told, seconds = json.loads(made.read_text())
    return Run(folder, told, seconds)
