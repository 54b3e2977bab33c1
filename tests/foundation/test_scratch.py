"""Folders of processes: each lasts as long as its process, and the next process removes those of killed ones."""

import signal
import subprocess
import sys
from pathlib import Path

from steeplechase.foundation.scratch import LOCK, remove_abandoned, scratch_folder
from tests.factories.paths import ROOT

HOLD = """
import sys, time
from pathlib import Path
from steeplechase.foundation.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "part").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_folder_lasts_as_long_as_its_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        with scratch_folder(tmp_path) as mine:
            assert sorted(tmp_path.iterdir()) == sorted([held, mine])
        assert list(tmp_path.iterdir()) == [held]
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (held / "part").is_dir()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_folders_and_links_are_not_removed(tmp_path: Path) -> None:
    other = tmp_path / "another"
    other.mkdir()
    (other / LOCK).write_text("")
    (tmp_path / "steeplechase-making").mkdir()  # its lock is still to come
    linked = tmp_path / "steeplechase-linked"
    linked.mkdir()
    (linked / LOCK).symlink_to(other / LOCK)
    results = tmp_path / "steeplechase-results"
    results.mkdir()
    (results / "lock").write_text("")
    before = sorted(tmp_path.rglob("*"))
    with scratch_folder(tmp_path):
        pass
    assert sorted(tmp_path.rglob("*")) == before
