"""The notebook of `examples/` runs, and shows what it gives."""

import nbformat
import pytest
from nbclient import NotebookClient

from tests.factories.paths import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_gives_what_it_shows(path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    before = [shown(cell) for cell in notebook.cells]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT / "examples")}}).execute()
    assert [shown(cell) for cell in notebook.cells] == before
    assert sum(map(len, before)) >= 6


def shown(cell: nbformat.NotebookNode) -> list[str]:
    """Return the texts of a cell's outputs."""
    outputs = cell.get("outputs", [])
    return [str(output.get("text") or output.get("data", {}).get("text/plain")) for output in outputs]


def test_there_is_a_notebook() -> None:
    assert [path.name for path in NOTEBOOKS] == ["results_in_python.ipynb"]
