"""Published data sets for tests: a file or folder of the data folder, or a skip that says what is missing."""

from pathlib import Path

import pytest

from tasks.data_folder import HINT, data_folder

ROOT = Path(__file__).parents[2]


def published(path: str) -> Path:
    """Return what lies at a path in the data folder; skips the test where nothing does."""
    found = ROOT / data_folder() / path
    if not found.exists():
        pytest.skip(f"{path} is not in {data_folder()}; {HINT}")
    return found.resolve()
