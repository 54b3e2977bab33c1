"""Published data sets for tests: a file or folder of the data folder, or a skip that says what is missing."""

from functools import cache
from pathlib import Path

import pytest

from steeplechase.tasks.data_folder import HINT, data_folder
from steeplechase.tasks.data_sets.local_copies import fault_of
from steeplechase.tasks.data_sets.registry import data_sets

ROOT = Path(__file__).parents[2]


def published(path: str) -> Path:
    """Return what lies at a path in the data folder; skips the test unless all registered files there are right."""
    folder = ROOT / data_folder()
    if fault := _first_fault(folder, path):
        pytest.skip(f"{fault}; {HINT}")
    return (folder / path).resolve()


@cache
def _first_fault(folder: Path, path: str) -> str | None:
    every = [file for data_set in data_sets().values() for file in data_set.files]
    below = [file for file in every if path in ("", file.path) or file.path.startswith(f"{path}/")]
    assert below, f"{path} is in no registered data set"
    faults = (fault_of(folder / file.path, file) for file in below)
    return next((str(fault) for fault in faults if fault is not None), None)
