"""A few faults of some rows of the table of faults, and the file in which their results accumulate."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.factories.paths import ROOT
from tools.faults.rows import ROWS, Attempt, attempts, keep, standing


@pytest.mark.engines
@pytest.mark.skipif(shutil.which("cc") is None, reason="the fault layer is compiled with cc")
def test_a_few_kills_full_disks_and_hostile_files_do_no_harm() -> None:
    command = [sys.executable, "-m", "tools.faults", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"{name} " in done.stdout for name, row in ROWS.items() if row.quick)


def test_a_later_result_of_an_attempt_replaces_the_earlier_one(tmp_path: Path) -> None:
    for number, wrong in ((0, ["a table differs"]), (1, []), (0, [])):
        keep(Attempt("kills", 1, number, "0", Counter(driver=3), wrong), tmp_path / "results.jsonl")
    kept = attempts(tmp_path / "results.jsonl")
    assert len(kept) == 3
    assert [each.wrong for each in standing(kept, "kills")] == [[], []]
