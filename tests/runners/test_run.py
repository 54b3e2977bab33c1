"""A results folder belongs to one experiment and one driver; what a stage raises, and the silent ones."""

import os
import shutil
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from runners.opening import RunRequest, open_ledger
from runners.run import run, run_stages, timed
from runners.run_progress import RunProgress
from runners.settings import RunSettings
from runners.stage_watch import LEAST_LIMIT_SECONDS, StageWatch
from runners.stages.corpus import CorpusStage
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import ConflictError, DataError, MachineError
from steeplechase.foundation.locking import Holder
from steeplechase.ledger.amendments import amendments
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.sessions import sessions
from steeplechase.ledger.snapshot import DRAWN_IDENTITY
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from steeplechase.tasks.data_folder import VARIABLE
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import ARCHITECTURE, RECIPE, Track


def request(folder: Path, experiment: Experiment, scale: str = "whole") -> RunRequest:
    return RunRequest(experiment, scale, ResultPaths.of(folder / "results"), RunSettings(workers=1))


def ignore_progress(progress: RunProgress) -> None:
    """Ignore progress."""


def test_another_experiment_in_the_folder_is_refused_with_every_key_that_differs(tmp_path: Path) -> None:
    with open_ledger(request(tmp_path, simulated.experiment(tmp_path))) as ledger:
        before = ledger.fact("identity")
    Track(simulated.experiment(tmp_path), tmp_path / "results").run()
    baseline = {
        "architecture": {**ARCHITECTURE, "heads": 2},
        "objective": {"kind": "masked_language_model"},
        "recipe": {**RECIPE, "dropout": 0.3},
    }
    pretraining = {"tokens": 2560, "seeds": [1, 3]}
    other = simulated.experiment(tmp_path, baseline=baseline, pretraining=pretraining)
    with pytest.raises(ConflictError) as refused, open_ledger(request(tmp_path, other)):
        pass
    first, *keys, results, _, _ = refused.value.lines
    assert refused.value.exit_code == 6
    assert "another experiment's results; nothing was changed" in first
    wanted = [
        "  baseline.architecture.heads: the default there, 2 here",
        "  baseline.recipe.dropout: the default there, 0.3 here",
    ]
    assert [key for key in keys if not key.startswith("  design.")] == wanted  # the arms depend on the baseline
    assert results.startswith("  finished, and would be another number: pretrain@2560 of baseline/1, ")
    with closing(Ledger.at(tmp_path / "results")) as ledger:
        assert ledger.fact("identity") == before


def test_a_run_that_starts_beside_another_does_not_change_its_object_store(tmp_path: Path) -> None:
    asked = request(tmp_path, simulated.small_table(tmp_path))
    asked.paths.make()
    second = replace(asked, settings=RunSettings(store=f"file://{tmp_path}/objects"))
    with asked.paths.locked():  # a run that has not written its ledger yet
        with pytest.raises(ConflictError, match="is running this experiment"), open_ledger(second):
            pass
        assert asked.paths.objects == ""
    with open_ledger(second):
        assert asked.paths.objects == second.settings.store


def test_an_identity_is_drawn_once_and_moves_with_the_folder(tmp_path: Path) -> None:
    table = simulated.experiment(tmp_path)
    identities = []
    for _ in range(2):
        with open_ledger(request(tmp_path, table)) as ledger:
            identities.append(ledger.fact(DRAWN_IDENTITY))
    asked = request(tmp_path, table)
    moved = shutil.copytree(asked.paths.folder, tmp_path / "moved")
    for folder in (moved, tmp_path / "elsewhere" / asked.paths.folder.name):
        with open_ledger(replace(asked, paths=ResultPaths.of(folder))) as ledger:
            identities.append(ledger.fact(DRAWN_IDENTITY))
    first, again, after_a_move, of_another = identities
    assert isinstance(first, str)
    assert first == again == after_a_move != of_another


def test_only_a_run_that_computes_is_recorded_as_a_session(tmp_path: Path) -> None:
    asked = replace(request(tmp_path, simulated.small_table(tmp_path)), command="steeplechase run a.yaml")
    track = Track(asked.experiment, tmp_path)
    with open_ledger(asked) as ledger:
        for expected in (1, 1):
            with timed(ledger, asked, ignore_progress) as reporter:
                run_stages(track.journal(ledger), track.executor(), reporter)
            (session,) = sessions(ledger)
            assert (len(sessions(ledger)), session.command) == (expected, "steeplechase run a.yaml")
        assert session.seconds is not None
        assert session.machine["threads"] == 1


def test_a_changed_deciding_test_is_an_amendment_and_its_default_is_none(tmp_path: Path) -> None:
    with open_ledger(request(tmp_path, simulated.experiment(tmp_path))) as ledger:
        before = ledger.fact("identity")
    same = simulated.experiment(tmp_path, comparison="welch", headline_metrics=["held_out_loss", "score"])
    with open_ledger(request(tmp_path, same)) as ledger:
        assert amendments(ledger) == ()
    with open_ledger(request(tmp_path, simulated.experiment(tmp_path, comparison="paired", study="mix"))) as ledger:
        (added,) = amendments(ledger)
        assert added.changed == ("comparison", "study")
        assert ledger.fact("identity") == before


def test_arms_and_claims_may_be_added_and_the_ledger_has_the_time_of_addition(tmp_path: Path) -> None:
    arms: dict[str, Any] = {"narrow": {"bottleneck_ratio": 2}}
    small = simulated.experiment(tmp_path, design={"kind": "list", "arms": arms}, fine_tuning={})
    with open_ledger(request(tmp_path, small)):
        pass
    Track(small, tmp_path / "results").run()
    with open_ledger(request(tmp_path, small)) as ledger:
        assert amendments(ledger) == ()
        last = ledger.last_trial_record()
    arms["dynamic"] = {"bottleneck_ratio": 2, "convolution": {"kind": "dynamic"}}
    claims = ["held_out_loss(dynamic) < held_out_loss(narrow)"]
    more = simulated.experiment(tmp_path, design={"kind": "list", "arms": arms}, fine_tuning={}, claims=claims)
    for _ in range(2):  # a second run adds nothing
        with open_ledger(request(tmp_path, more)) as ledger:
            (added,) = amendments(ledger)
            assert (added.after_record, added.changed) == (last, ("arms", "claims"))
    whole = Track(more, tmp_path / "results").run()
    assert {arm.name: arm.after_record for arm in whole.arms} == {"baseline": 0, "narrow": 0, "dynamic": last}
    assert {history.status for history in whole.of_arm("dynamic")} == {TrialStatus.FINISHED}
    assert whole.document["claims"] == claims


def test_another_spelling_of_a_path_is_the_same_experiment_and_another_file_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(path: str) -> RunRequest:
        corpus = {"kind": "text_files", "path": path}
        return request(tmp_path, simulated.experiment(tmp_path, corpus=corpus, fine_tuning={}))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with open_ledger(at("./text.txt")) as ledger:
        before = ledger.fact("identity")
    for same in (f"${VARIABLE}/text.txt", str(tmp_path / "text.txt")):
        with open_ledger(at(same)) as ledger:
            assert amendments(ledger) == ()
            assert ledger.fact("identity") == before
    Track(at("./text.txt").experiment, tmp_path / "results").run()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "text.txt").write_text("another text\n" * 4000)
    with pytest.raises(ConflictError, match=rf"corpus.path: \"./text.txt\" there, \"\${VARIABLE}/text.txt\" here"):
        open_ledger(at(f"${VARIABLE}/text.txt")).__enter__()


def test_a_concurrent_driver_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    asked = request(tmp_path, simulated.experiment(tmp_path))
    with open_ledger(asked) as ledger:
        with pytest.raises(ConflictError, match="is running this experiment"):
            run(asked, ignore_progress)
        assert ledger.trials() == ()
        assert not (asked.paths.stages / "unfinished").exists()


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [("absent", MachineError, "no ledger here"), ("results", ConflictError, "resumed without --reuse")],
)
def test_a_source_of_rows_that_cannot_be_one_is_refused_before_a_folder_is_made(
    tmp_path: Path, source: str, error: type[Exception], message: str
) -> None:
    asked = request(tmp_path, simulated.experiment(tmp_path))
    asked = replace(asked, settings=RunSettings(workers=1, reuse=(tmp_path / source,)))
    with pytest.raises(error, match=f"{source}: .*{message}"):
        run(asked, ignore_progress)
    assert not asked.paths.folder.exists()


@pytest.mark.engines
def test_a_user_error_in_a_worker_ends_the_run_and_a_corrected_file_resumes_it(tmp_path: Path) -> None:
    asked = request(tmp_path, simulated.experiment(tmp_path))
    (tmp_path / "text.txt").write_bytes(b"first line\nsecond\x00line\n" * 1000)
    with pytest.raises(DataError, match=r"text\.txt:2: a NUL byte") as refused:
        run(asked, ignore_progress)
    assert refused.value.exit_code == 4
    (tmp_path / "text.txt").write_text("too little text for a vocabulary\n")
    with pytest.raises(DataError) as refused:
        run(asked, ignore_progress)
    assert "NUL" not in str(refused.value)


OWN, OTHER = "here:1", "there:2"


TASK = StageTask("a/1", "corpus", Stage(CorpusStage(corpus=DocumentationCorpus(maximum_megabytes=2), read={})))


class Executor:
    """Ends workers, if it is able to."""

    def __init__(self, able: bool = True) -> None:
        self.able, self.ended = able, 0
        self.holders: list[Holder | None] = []

    def end_worker(self, task: StageTask, holder: Holder | None) -> bool:
        self.ended += self.able
        self.holders.append(holder)
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


def test_a_process_that_takes_over_a_stage_is_not_ended_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path, monkeypatch, 60.0)
    own, other, times = Holder(1, "here", OWN), Holder(2, "there", OTHER), set[float]()

    def holder(key: str) -> Holder:
        """Return this run's process at the first question of a look, and another run's at the next one."""
        first = watched.now not in times
        times.add(watched.now)
        return own if first else other

    monkeypatch.setattr(watched.store, "holder", holder)
    watched.looks(100)
    assert {*watched.executor.holders} == {own}


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
