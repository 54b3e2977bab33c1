"""What is delivered: the wheel holds every experiment, and the notebook gives what it shows."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
from nbclient import NotebookClient

from tests.factories.paths import ROOT

BUILD = "from setuptools.build_meta import build_wheel; build_wheel('wheels')"
FILES = ("pyproject.toml", "README.md", "LICENSE")
FOLDERS = ("steeplechase", "experiments")
"""The other packages are left out, which the build does not notice."""


def test_the_wheel_holds_every_experiment_and_the_schema(tmp_path: Path) -> None:
    for file in FILES:
        shutil.copy(ROOT / file, tmp_path)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-c", BUILD], cwd=tmp_path, capture_output=True, check=True)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    with ZipFile(wheel) as content:
        held = {*content.namelist()}
    expected = {str(path.relative_to(tmp_path)) for path in (tmp_path / "experiments").rglob("*") if path.is_file()}
    assert len(expected) > 40
    assert expected <= held
    assert "steeplechase/commands/main.py" in held


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
