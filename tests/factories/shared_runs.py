"""Folders that tests of several files read, made by the first process of a test session that needs one."""

import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.factories.command_line import Run, steeplechase

Told = TypeVar("Told")


def shared_folder(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], Told]) -> tuple[Path, Told]:
    """Return a folder that `make` fills, and what it told; a process that needs it meanwhile waits for it."""
    base = folders.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, made = base / name, base / f"{name}.json"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            made.write_text(json.dumps(make(folder)))
    return folder, json.loads(made.read_text())


def shared_run(
    folders: pytest.TempPathFactory, name: str, *arguments: str, mirrored: bool = False, workers: int = 2
) -> Run:
    """Return the finished run of an experiment."""

    def make(folder: Path) -> tuple[str, float]:
        started = time.monotonic()
        done = steeplechase("run", *arguments, "--out", folder, "--workers", str(workers), mirrored=mirrored)
        assert done.returncode == 0, done.stderr
        return done.stderr, time.monotonic() - started

    folder, (told, seconds) = shared_folder(folders, name, make)
    return Run(folder, told, seconds)
