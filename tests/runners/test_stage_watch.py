"""Running stages: lines about another run's process and about silence, and the end of a worker that hangs."""

import os
import time
from pathlib import Path
from typing import Any, cast

import pytest

from runners.stage_watch import LEAST_LIMIT_SECONDS, StageWatch
from runners.stages.corpus import CorpusStage
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask
from steeplechase.foundation.locking import Holder
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.tasks.corpora.documentation import DocumentationCorpus

OWN, OTHER = "here:1", "there:2"
TASK = StageTask("a/1", "corpus", Stage(CorpusStage(corpus=DocumentationCorpus(maximum_megabytes=2), read={})))


class Executor:
    """Ends workers, if it is able to."""

    def __init__(self, able: bool = True) -> None:
        self.able, self.ended = able, 0

    def end_worker(self, task: StageTask, holder: Holder | None) -> bool:
        self.ended += self.able
        return self.able


class Watched:
    """A store with a progress file, its watch, and a clock that the test moves."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, limit: float, able: bool = True) -> None:
        self.now, self.store, self.executor = 1000.0, ArtifactStore(folder), Executor(able)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.watch, self.progress = StageWatch(self.store, OWN, limit), self.store.progress_file(TASK.stage.key)
        self.progress.parent.mkdir(parents=True)
        self.progress.touch()

    def looks(self, seconds: int) -> None:
        for _ in range(0, seconds, 2):
            self.now += 2
            self.watch.look({TASK.task_id: TASK}, (), cast("Any", self.executor))


def test_a_process_of_another_run_is_named_once_and_never_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(tmp_path, monkeypatch, 60.0)
    with watched.store.computing(TASK.stage.key, OTHER):
        watched.looks(400)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"a/1 corpus: waits for process {os.getpid()}, which computes the same stage" in told
    assert watched.executor.ended == 0


@pytest.mark.parametrize("able", [True, False])
def test_a_silent_worker_is_told_of_then_ended_as_a_dead_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], able: bool
) -> None:
    watched = Watched(tmp_path, monkeypatch, 60.0, able)
    with watched.store.computing(TASK.stage.key, OWN):
        watched.looks(50)
        assert capsys.readouterr().err.count("no progress for 3") == 1
        watched.looks(16)
        assert ("is ended, and" if able else "or stop this run") in capsys.readouterr().err
    assert watched.executor.ended == able
    end = watched.watch.explained(TASK, Failure("died", worker_died=True))
    assert isinstance(end, Failure)
    assert ("no progress for 1 min" in end.error) is able


def test_a_worker_with_progress_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(tmp_path, monkeypatch, 20.0)
    with watched.store.computing(TASK.stage.key, OWN):
        for number in range(20):
            os.utime(watched.progress, ns=(number, number))
            watched.looks(12)
    assert (watched.executor.ended, capsys.readouterr().err) == (0, "")
    assert watched.watch.limit_of(TASK, ()) == 20.0
    assert StageWatch(watched.store, OWN).limit_of(TASK, ()) == LEAST_LIMIT_SECONDS
