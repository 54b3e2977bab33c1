"""A results folder that cannot be written to can be read, by every command that reads one."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from reports.formats.markdown import without_figures
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from tests.factories.command_calls import MAIN, ROOT, TABLE, listed

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def read_only(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command that sees a folder mounted read-only: permissions alone do not bind root."""
    command = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(folder), *MAIN, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"this machine mounts nothing read-only here: {done.stderr.strip()}")
    return done


@contextmanager
def closed(results: Path, folder: Path) -> Iterator[None]:
    """A run has ended: there is the ledger alone."""
    shutil.copy(results / LEDGER_NAME, folder)
    yield


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


@pytest.mark.parametrize("state", [closed, killed, alive])
def test_a_folder_that_cannot_be_written_to_can_be_read(
    results: Path, tmp_path: Path, state: Callable[[Path, Path], AbstractContextManager[None]]
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    with state(results, folder):
        before = listed(folder)
        with closing(Ledger.at(folder)) as ledger:
            assert (ledger.fact("importance") is not None) == (state is not closed)
        process = read_only(folder, "report", folder, "--format", "markdown")
        assert (process.returncode, process.stderr) == (0, "")
        put = read_only(folder, "publish", folder, tmp_path / "published")
        assert (put.returncode, put.stderr) == (0, "")
        assert without_figures((tmp_path / "published" / "report.md").read_text()) == process.stdout
        shared = f"{LEDGER_NAME}-shm"  # holds the locks of those who read
        assert {**listed(folder), shared: None} == {**before, shared: None}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ui", "DIR"), 5, "mlflow.db: no runs to browse"),  # the ledger is read; a mirror was never made
        (("export", "DIR", "OUT", "--trial", "nobody/1"), 3, "'nobody/1' is not a trial"),
        (("submission", "DIR", "OUT.zip", "--trial", "nobody/1"), 3, "nobody/1"),
        (("plan", TABLE, "--scale", "smoke", "--out", "DIR"), 0, ""),
        (("replay", "DIR", "--seeds", "1", "--budget", "1"), 0, ""),
    ],
)
def test_every_command_that_reads_a_ledger_reads_it_read_only(
    kept: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    named = {"DIR": kept, "OUT": tmp_path / "out", "OUT.zip": tmp_path / "out.zip"}
    done = read_only(kept, *(named.get(str(argument), argument) for argument in arguments))
    assert done.returncode == code, done.stderr
    assert words in done.stderr
