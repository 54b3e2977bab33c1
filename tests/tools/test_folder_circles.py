"""The script of `make check` finds import cycles between folders without cycles between files."""

import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from tools.folder_circles import circles

FILES = {
    "__init__.py": "",
    "one/__init__.py": "",
    "one/low.py": "",
    "one/high.py": "import planted_house.other.middle",
    "other/__init__.py": "",
    "other/middle.py": "def late() -> None:\n    import planted_house.one.low",
    "alone/__init__.py": "",
    "alone/part.py": "import planted_house.one.high",
}


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[grimp.ImportGraph]:
    for name, text in FILES.items():
        path = tmp_path / "planted_house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield grimp.build_graph("planted_house", cache_dir=None)
    sys.modules.pop("planted_house", None)


def test_import_cycles_between_folders_are_found(graph: grimp.ImportGraph) -> None:
    assert list(circles(graph, "planted_house")) == [["planted_house.one", "planted_house.other"]]
    assert list(circles(graph, "planted_house.one")) == []


def test_without_the_closing_import_there_is_no_cycle(graph: grimp.ImportGraph) -> None:
    graph.remove_import(importer="planted_house.other.middle", imported="planted_house.one.low")
    assert list(circles(graph, "planted_house")) == []
