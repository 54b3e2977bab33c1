"""A hub in this process: `datasets.load_dataset` answers from tables given by data set, configuration and split."""

from collections.abc import Mapping
from typing import Any

import pytest

Tables = Mapping[tuple[str, str, str], Any]


def serve(monkeypatch: pytest.MonkeyPatch, tables: Tables, revision: str) -> list[str]:
    """Let the library find these tables at one revision, and local files as ever; return a growing list of splits."""
    datasets = pytest.importorskip("datasets", reason="needs the extra `datasets`")
    asked: list[str] = []

    def load_dataset(name: str, configuration: str = "", *, revision: str = "", split: str, **local: Any) -> Any:
        if local:
            return read_local(name, split=split, **local)
        asked.append(f"{name}@{revision} {configuration}/{split}")
        if revision != known or (name, configuration, split) not in tables:
            raise datasets.exceptions.DatasetNotFoundError(f"Dataset {name!r} doesn't exist on the Hub")
        return tables[name, configuration, split]

    known, read_local = revision, datasets.load_dataset
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return asked
