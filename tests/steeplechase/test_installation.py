"""What is installed: no module of a user hides it, the wheel is whole, and the notebook gives what it shows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
from nbclient import NotebookClient

from tests.factories.paths import ROOT

LOAD = "import steeplechase; steeplechase.load; import reports.report, runners.run; print(runners.run.__file__)"


def called(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file", ["runners.py", "search_space/__init__.py"])
@pytest.mark.parametrize("arguments", [("-m", "steeplechase", "--version"), ("-c", LOAD)], ids=["command", "python"])
def test_a_module_of_the_user_hides_no_package(tmp_path: Path, file: str, arguments: tuple[str, ...]) -> None:
    for other in (file, "tasks.py", "models/__init__.py"):
        (tmp_path / other).parent.mkdir(exist_ok=True)
        (tmp_path / other).write_text("raise ImportError('of the user')\n")
    (tmp_path / "steeplechase" / "steeplechase").mkdir(parents=True)  # a clone in the folder
    done = called(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_a_user_s_own_models_are_imported_beside_the_package(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/__init__.py").write_text("WIDTH = 3\n")
    done = called(tmp_path, "-c", "import steeplechase; steeplechase.load; import models; print(models.WIDTH)")
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_a_module_that_was_imported_before_under_such_a_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "runners.py").touch()
    done = called(tmp_path, "-c", "import runners, steeplechase")
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {tmp_path / 'runners.py'}: imported as 'runners', which is the name of a package of "
        "steeplechase; import steeplechase first, or rename it"
    )


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
