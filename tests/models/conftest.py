"""Fixtures of several tests of models."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.factories.plugins import RECURRENT_MODULE, loaded


@pytest.fixture
def recurrent(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Yield the document of a small recurrent architecture, whose plugin is loaded."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "recurrent_example.py").write_text(RECURRENT_MODULE, encoding="utf-8")
    with loaded(tmp_path):
        yield {
            "kind": "module",
            "factory": "models.recurrent_example:build",
            "arguments": {"words": 40, "width": 16, "directions": ["forward", "backward"]},
            "vocabulary_size": 40,
            "positions": 32,
            "width": 16,
        }
