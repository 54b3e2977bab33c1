"""A user's `steeplechase.tasks.py` or `models/` that would hide a package of the project: one line, which names the file."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from steeplechase.foundation.hidden_packages import PACKAGES, hidden_packages
from runners.executors.worker import answer
from tests.factories.paths import ROOT


def called(folder: Path, module: str = "steeplechase") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, "--version"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("hidden", ["steeplechase.tasks.py", "models/__init__.py", "foundation/__init__.py"])
def test_a_module_that_hides_a_package_is_refused_in_one_line(tmp_path: Path, hidden: str) -> None:
    file = tmp_path / hidden
    file.parent.mkdir(exist_ok=True)
    file.write_text("raise ImportError('of the user')\n")
    done = called(tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (5, "", 1), done.stderr
    assert done.stderr.startswith(f"{file.resolve()}: hides steeplechase's own package")


def test_every_hidden_package_is_named_at_once_also_by_the_module_of_the_command(tmp_path: Path) -> None:
    for name in ("tasks", "models"):
        (tmp_path / f"{name}.py").touch()
    done = called(tmp_path, "steeplechase.commands.main")
    assert (done.returncode, [line.partition(":")[0] for line in done.stderr.splitlines()]) == (
        5,
        [str(tmp_path / "steeplechase.models.py"), str(tmp_path / "steeplechase.tasks.py")],
    )


def test_the_package_raises_the_same_line_in_python(tmp_path: Path) -> None:
    (tmp_path / "steeplechase.tasks.py").touch()
    code = "import steeplechase\ntry:\n    steeplechase.load('x')\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{tmp_path / 'steeplechase.tasks.py'}: hides steeplechase's own package 'tasks'")


def test_folders_without_modules_hide_nothing(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "experiments").mkdir()
    (tmp_path / "steeplechase" / "steeplechase").mkdir(parents=True)  # a clone
    assert called(tmp_path).returncode == 0


def test_a_checkout_is_installed_on_the_path_so_that_a_clone_s_folder_does_not_hide_the_package() -> None:
    """Setuptools' default, a finder, is asked after the path, where a folder without `__init__.py` is a package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["distutils"]["editable_wheel"] == {"mode": "compat"}


def test_every_package_of_the_project_is_looked_for() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {*PACKAGES} == packages - {"benchmarks", "steeplechase", "tests", "tools"}
    assert hidden_packages() == ()


def test_a_worker_answers_with_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "/elsewhere/tasks.py: hides steeplechase's own package 'tasks'"
    monkeypatch.setattr("runners.executors.worker.hidden_packages", lambda: (line,))
    found = answer("{}")
    assert (found["error"], found["exit_code"]) == (f"MachineError: {line}", 5)
