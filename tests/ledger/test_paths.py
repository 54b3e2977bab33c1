"""Paths of results, and the lock of a results folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from steeplechase.foundation.errors import ConflictError, MachineError
from steeplechase.ledger.paths import RESULTS, ResultPaths
from tests.factories.paths import ROOT

HOLD = """
import sys, time
from pathlib import Path
from steeplechase.ledger.paths import ResultPaths
with ResultPaths.of(Path(sys.argv[1])).locked():
    print("held", flush=True)
    time.sleep(600)
"""


def test_experiments_under_results_share_their_stages_and_others_are_complete_in_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inside, outside = ResultPaths.default("table2", "demo"), ResultPaths.of(tmp_path / "elsewhere")
    assert inside.folder == Path(RESULTS) / "table2-demo"
    assert inside.stages.resolve() == tmp_path / RESULTS / "stages"
    assert ResultPaths.of(tmp_path / RESULTS / "mine").stages.resolve() == inside.stages.resolve()
    assert outside.stages == tmp_path / "elsewhere" / "stages"
    assert ResultPaths.of(Path(f"{RESULTS}/../elsewhere")).stages.resolve() == outside.stages


def test_results_have_their_stages_from_every_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, alone = tmp_path / RESULTS / "mine", tmp_path / RESULTS / "alone"
    for folder in (shared, tmp_path / RESULTS / "stages", alone / "stages", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    for written in (shared, Path("..") / RESULTS / "mine"):
        assert ResultPaths.of(written).stages == tmp_path / RESULTS / "stages"
        assert ResultPaths.of(written).folder == written
    assert ResultPaths.of(alone).stages == alone / "stages"
    monkeypatch.chdir(tmp_path)
    assert ResultPaths.of(alone).stages == alone / "stages"


def test_results_know_their_stages_after_the_parent_was_renamed(tmp_path: Path) -> None:
    folder = tmp_path / RESULTS / "group" / "mine"
    (tmp_path / RESULTS / "stages").mkdir(parents=True)
    ResultPaths.of(folder).make()
    assert (folder / "stage_store").read_text() == "../..\n"
    (tmp_path / RESULTS).rename(tmp_path / "former")
    moved = tmp_path / "former" / "group" / "mine"
    assert ResultPaths.of(moved).stages == tmp_path / "former" / "stages"
    for wrong in ("/", str(tmp_path), "../../elsewhere", "", "a/..", "..\\.."):
        (moved / "stage_store").write_text(wrong)
        assert ResultPaths.of(moved).root == moved
    alone = moved.rename(tmp_path / "alone")
    assert ResultPaths.of(alone).stages == alone / "stages"


def test_a_folder_without_write_permission_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot be written to") as refused:
        ResultPaths.of(tmp_path / "file").make()
    assert str(tmp_path / "file") in str(refused.value)
    with pytest.raises(MachineError, match=f"below: {tmp_path}/file is a file, not a folder; name another folder"):
        ResultPaths.of(tmp_path / "file" / "below").make()


def test_a_second_run_is_rejected_with_the_first_ones_process_id_until_it_ends(tmp_path: Path) -> None:
    places = ResultPaths.of(tmp_path)
    with places.locked(), pytest.raises(ConflictError, match=f"process {os.getpid()} is running"), places.locked():
        pass
    with places.locked():
        pass


def test_a_killed_run_releases_its_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(ConflictError, match=f"process {holder.pid} is running"),
            ResultPaths.of(tmp_path).locked(),
        ):
            pass
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with ResultPaths.of(tmp_path).locked():
            pass
