"""Running an experiment that only measures latencies: results after kills and on resumption; no time is asserted."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from runners.dag import SharedStages, shared_stages, trial_stages
from runners.opening import RunRequest, stages_of
from runners.run import run
from runners.run_progress import RunProgress
from runners.scheduler import DONE, next_step
from runners.scheduling.state import RunState
from runners.stages.context import ProgressFile, StageContext
from runners.stages.latency import LatencyStage, this_machine
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.measurements import Measures
from steeplechase.configuration.measurements.latency import Latency, LatencyResult
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Record, Status, with_results
from steeplechase.ledger.rows import read_result
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.latencies import MACHINE, experiment
from tests.factories.paths import EXPERIMENTS


def timed(folder: Path, asked: Experiment | None = None) -> tuple[Snapshot, list[RunProgress]]:
    """Return what a run in a folder has found, and the parts of it that were shown."""
    seen: list[RunProgress] = []
    found = run(RunRequest(asked or experiment(), "smoke", ResultPaths.of(folder)), seen.append)
    return found, seen


def kept_in(folder: Path) -> list[LatencyResult]:
    with closing(Ledger.at(folder)) as ledger:
        return [result for _, result in with_results(ledger.records(), LatencyResult)]


def compute_here(folder: Path, asked: Experiment, length: int) -> LatencyResult:
    """Return what the stage of a length measures, computed in this process."""
    stage = LatencyStage.by_label(asked, this_machine("cpu"))[f"latency n = {length}"].declaration
    result = stage.compute(StageContext({}, folder, ProgressFile(folder / "progress" / "stage.json")))
    found = read_result("latency", Status.FINISHED, json.dumps(result))
    assert isinstance(found, LatencyResult)
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which every length has been timed."""
    folder = tmp_path_factory.mktemp("timed")
    timed(folder)
    return folder


@pytest.mark.engines
def test_every_length_is_timed_with_every_arm_in_every_round(finished: Path) -> None:
    measured = kept_in(finished)
    assert {each.length: {arm: len(s) for arm, s in each.seconds.items()} for each in measured} == {
        8: {"attention": 3, "mixed": 3},
        16: {"attention": 3, "mixed": 3},
    }
    assert all(each.arms == ("attention", "mixed") and each.machine == this_machine("cpu") for each in measured)


@pytest.mark.engines
def test_a_finished_run_repeats_no_measurement(finished: Path) -> None:
    before = kept_in(finished)
    _, seen = timed(finished)
    assert all(not shown.recorded and not shown.remaining for shown in seen)
    assert kept_in(finished) == before


@pytest.mark.engines
def test_another_experiment_is_a_conflict_with_the_differences(finished: Path) -> None:
    with pytest.raises(
        ConflictError, match=r"(?s)measure\.latency\.rounds: 3 there, 4 here.*all arms are measured together"
    ):
        timed(finished, experiment(rounds=4))


@pytest.mark.engines
def test_another_machine_is_a_conflict_with_the_differences(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.stages.latency.manifest", lambda: {**MACHINE.model_dump(), "processor": "another"})
    with pytest.raises(ConflictError, match=r'machine\.processor: .* there, "another" here'):
        timed(finished)


def test_every_declared_setting_can_be_measured(tmp_path: Path) -> None:
    timing = {"part": "block", "precision": "bfloat16", "batch_sequences": 3}
    convolutions = ("depthwise", "lightweight", "dynamic", "span_dynamic")
    every = {kind: {"bottleneck_ratio": 2, "convolution": kind} for kind in convolutions}
    found = compute_here(tmp_path, experiment({"attention": {}, **every}, **timing), 8)
    assert {len(seconds) for seconds in found.seconds.values()} == {3}


def test_a_run_without_trials_ends_with_its_stages() -> None:
    state = RunState(experiment(), SharedStages(LatencyStage.by_label(experiment(), MACHINE)), Path("ledger"))
    stages = state.shared_tasks
    assert [task.task_id for task in next_step(state).ready] == [(None, "latency n = 8"), (None, "latency n = 16")]
    result = LatencyResult(length=8, arms=("attention",), seconds={"attention": (1.0,)}, machine=MACHINE)
    for number, task in enumerate(stages, start=1):
        assert task in next_step(state).ready
        state.apply(Record(number, None, "latency", task.label, task.stage.key, Status.FINISHED, result, 1.0, False))
        assert task not in next_step(state).ready
    assert next_step(state) == DONE


def test_arms_that_are_trained_are_timed_too_and_once() -> None:
    declared = load_experiment(EXPERIMENTS / "table2.yaml", "smoke")
    asked = declared.model_copy(update={"measure": Measures(latency=Latency(lengths=(8,)))})
    shared = stages_of(asked).by_label
    assert {"corpus", "tokens", "latency n = 8"} <= shared.keys()
    stage = shared["latency n = 8"].declaration
    assert isinstance(stage, LatencyStage)
    assert [*stage.arms] == [arm.name for arm in asked.arms]
    assert "latency n = 8" not in trial_stages(asked, shared_stages(asked), asked.baseline, 1)
    assert shared["tokens"].key == shared_stages(declared).tokens.key
    assert asked.may_grow
