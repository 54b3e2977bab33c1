"""The wheel holds the experiments and their schema, beside the packages that read them."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

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
    assert "steeplechase/command.py" in held
