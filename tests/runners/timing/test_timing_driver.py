"""Running: what is kept after a kill, what the next run does about it, and what it refuses. No time is judged."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foundation.errors import ConflictError, CorruptionError
from ledger.paths import ResultPaths
from ledger.timing.keeping import TIMING_NAME, read, write
from runners.timing.driver import Progress, run
from runners.timing.measuring import measure
from tests.factories.paths import ROOT
from tests.factories.timings import experiment

KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.factories.timings import experiment
from ledger.paths import ResultPaths
from runners.timing.driver import run

def watch(progress):
    if progress.length == 16 and progress.finished is None:
        os.kill(os.getpid(), signal.SIGKILL)

run(experiment(), "smoke", ResultPaths.of(Path({folder!r})), watch)
"""


def ignore(progress: Progress) -> None:
    """Watch nothing."""


def test_every_length_is_timed_with_every_arm_in_every_round(tmp_path: Path) -> None:
    seen: list[Progress] = []
    record = run(experiment(), "smoke", ResultPaths.of(tmp_path), seen.append)
    assert not record.missing
    assert {each.length: {arm: len(s) for arm, s in each.seconds.items()} for each in record.measured} == {
        8: {"attention": 3, "mixed": 3},
        16: {"attention": 3, "mixed": 3},
    }
    shares = [progress.share for progress in seen]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert [progress.length for progress in seen if progress.finished] == [8, 16]
    assert read(tmp_path) == record


@pytest.mark.parametrize("timing", [{"part": "block"}, {"precision": "bfloat16"}, {"batch_sequences": 3}])
def test_what_is_declared_can_be_timed(timing: dict[str, object]) -> None:
    every = {
        kind: {"bottleneck_ratio": 2, "convolution": kind}
        for kind in ("depthwise", "lightweight", "dynamic", "span_dynamic")
    }
    measured = measure(
        experiment({"attention": {}, "mixed": {"bottleneck_ratio": 2}, **every}, **timing), 8, lambda _: None
    )
    assert measured.rounds == 3


def test_timing_leaves_the_process_as_it_was() -> None:
    import gc

    import torch

    threads = torch.get_num_threads()
    measure(experiment(), 8, lambda _: None)
    assert gc.isenabled()
    assert torch.is_grad_enabled()
    assert torch.get_num_threads() == threads


def test_a_killed_run_keeps_its_lengths_and_the_next_one_times_the_rest(tmp_path: Path) -> None:
    code = KILLED.format(tests=str(ROOT), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ}, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    kept = read(tmp_path)
    assert [each.length for each in kept.measured] == [8]
    record = run(experiment(), "smoke", ResultPaths.of(tmp_path), ignore)
    assert record.measured[0] == kept.measured[0]
    assert [each.length for each in record.measured] == [8, 16]


def test_a_finished_run_times_nothing_again(tmp_path: Path) -> None:
    first = run(experiment(), "smoke", ResultPaths.of(tmp_path), ignore)
    before = (tmp_path / TIMING_NAME).stat().st_mtime_ns
    assert run(experiment(), "smoke", ResultPaths.of(tmp_path), ignore) == first
    assert (tmp_path / TIMING_NAME).stat().st_mtime_ns == before


def test_another_experiment_or_machine_is_a_conflict_that_names_what_differs(tmp_path: Path) -> None:
    places = ResultPaths.of(tmp_path)
    record = run(experiment(), "smoke", places, ignore)
    with pytest.raises(ConflictError, match=r"timing\.rounds: 3 there, 4 here"):
        run(experiment(rounds=4), "smoke", places, ignore)
    elsewhere = record.machine.model_copy(update={"processor": "another"})
    write(record.model_copy(update={"machine": elsewhere}), tmp_path)
    with pytest.raises(ConflictError, match=r'machine\.processor: "another" there'):
        run(experiment(), "smoke", places, ignore)


def test_a_record_that_cannot_be_read_is_never_started_over(tmp_path: Path) -> None:
    (tmp_path / TIMING_NAME).write_text("{")
    with pytest.raises(CorruptionError):
        run(experiment(), "smoke", ResultPaths.of(tmp_path), ignore)
    assert (tmp_path / TIMING_NAME).read_text() == "{"


def test_a_folder_with_a_ledger_is_another_experiments(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(ConflictError, match="another experiment"):
        run(experiment(), "smoke", ResultPaths.of(tmp_path), ignore)
    assert not (tmp_path / TIMING_NAME).exists()
