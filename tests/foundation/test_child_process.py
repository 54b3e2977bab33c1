"""Processes of this project import this project, whatever lies in the folder that a user works in."""

import subprocess
from pathlib import Path

from runners.executors.local import worker_environment
from steeplechase.foundation.child_process import module_command


def test_modules_in_the_working_directory_hide_none_of_this_project(tmp_path: Path) -> None:
    for name in ("tasks", "models", "torch"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('of the user')\n")
    done = subprocess.run(
        module_command("runners.executors.worker"),
        cwd=tmp_path,
        env=worker_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
