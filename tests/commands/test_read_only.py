"""A results folder that cannot be written to can be read, by every command that reads one."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from reports.formats.markdown import without_figures
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from tests.factories.command_calls import ROOT, TABLE, listed

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
CALLS = """
import json, sys
from steeplechase.commands.main import main
codes = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["steeplechase", *arguments]
    try:
        main()
    except SystemExit as end:
        codes.append(end.code or 0)
print(codes, file=sys.stderr)
"""


def read_only(folder: Path, *commands: tuple[str | Path, ...]) -> tuple[list[int], str, str]:
    """Run commands in one process that sees a folder mounted read-only; return their codes and what they told.

    Permissions alone do not bind root.
    """
    asked = json.dumps([[*map(str, arguments)] for arguments in commands])
    command = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(folder), sys.executable, "-c", CALLS, asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"this machine mounts nothing read-only here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    told, _, codes = done.stderr.strip().rpartition("\n")
    return json.loads(codes), done.stdout, told


@contextmanager
def killed(results: Path, folder: Path) -> Iterator[None]:
    """A run was killed: what it last wrote lies in the log."""
    with alive(results, folder / "alive"):
        for name in (LEDGER_NAME, f"{LEDGER_NAME}-wal"):
            shutil.copy(folder / "alive" / name, folder)
    shutil.rmtree(folder / "alive")
    yield


@contextmanager
def alive(results: Path, folder: Path) -> Iterator[None]:
    """A run goes on: it has the ledger open."""
    folder.mkdir(exist_ok=True)
    shutil.copy(results / LEDGER_NAME, folder)
    with closing(Ledger(folder / LEDGER_NAME)) as ledger:
        ledger.set_fact("importance", {"width": 0.25})
        yield


@pytest.mark.parametrize("state", [killed, alive])
def test_a_folder_that_cannot_be_written_to_can_be_read(
    results: Path, tmp_path: Path, state: Callable[[Path, Path], AbstractContextManager[None]]
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    with state(results, folder):
        before = listed(folder)
        with closing(Ledger.at(folder)) as ledger:
            assert ledger.fact("importance") is not None
        codes, printed, _ = read_only(
            folder, ("report", folder, "--format", "markdown"), ("publish", folder, tmp_path / "published")
        )
        assert codes == [0, 0]
        assert printed.startswith(without_figures((tmp_path / "published" / "report.md").read_text()))
        shared = f"{LEDGER_NAME}-shm"  # holds the locks of those who read
        assert {**listed(folder), shared: None} == {**before, shared: None}


def test_every_command_that_reads_a_ledger_reads_it_read_only(kept: Path, tmp_path: Path) -> None:
    trial = ("--trial", "nobody/1")
    codes, _, told = read_only(
        kept,
        ("ui", kept),
        ("export", kept, tmp_path / "out", *trial),
        ("submission", kept, tmp_path / "out.zip", *trial),
        ("plan", TABLE, "--scale", "smoke", "--out", kept),
        ("replay", kept, "--seeds", "1", "--budget", "1"),
    )
    assert codes == [5, 3, 3, 0, 0], told
    assert "mlflow.db: no runs to browse" in told  # the ledger is read; a mirror was never made
    assert told.count("nobody/1") == 2
