"""The benchmark of whole jobs: CPU time of all processes of a job, a kill of all of them, and the page."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.whole_job import job
from benchmarks.whole_job.job import CONTENDERS, Job, processor_times

BUSY = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass\n"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-S', '-c', {BUSY!r}])\nprint('1 ± 2')\n"


def of_script(script: str, folder: Path) -> Job:
    (folder / "data").mkdir()
    contender = replace(CONTENDERS[1], name="busy", files=(), arguments=("-S", "-c", script))
    return Job(contender, folder / "job", folder / "data")


def test_the_cpu_time_of_a_job_is_that_of_its_children_too(tmp_path: Path) -> None:
    used = of_script(PARENT, tmp_path).run()
    assert used.cpu_seconds >= 0.6
    assert used.output == "1 ± 2\n"


def test_a_kill_ends_every_process_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job.secrets, "token_hex", lambda size: tmp_path.name)
    endless = "import subprocess, sys\nsubprocess.run([sys.executable, '-S', '-c', 'while True: pass'])\n"
    started = time.monotonic()
    used = of_script(endless, tmp_path).run(kill_after=0.1)
    assert used.cpu_seconds >= 0.1
    assert time.monotonic() - started < 60
    assert not processor_times(tmp_path.name)


def test_a_failed_job_is_an_error_that_quotes_it(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such luck"):
        of_script("raise SystemExit('no such luck')", tmp_path).run()
