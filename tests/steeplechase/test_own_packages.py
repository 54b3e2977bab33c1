"""A user's modules named like a package of the project hide none of it, whatever the working directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
