"""An executor of whole trials decides nothing: stops, waits and deaths of processes leave what is decided."""

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.artifacts import Outcome
from ledger.records import Status, TrialStatus
from runners.executors import Executor, TaskEnd
from runners.executors.ray_trainable import gpu_share
from runners.executors.tune_adapter import STOP, TuneAdapter
from runners.journal import ATTEMPTS
from runners.work_queue import StageTask
from tests.factories.simulated_training import (
    SimulatedExecutor,
    Track,
    curve,
    folder_of,
    found,
    small_search,
    small_table,
)

Dies = Callable[[str, int], bool]
"""Whether the process of a stage dies, by its key and how often it did before."""


@dataclass
class Handed(Track):
    """Runs trials as Tune does: handed out whole, stepped one stage at a time, told of each end."""

    dies: Dies = lambda key, times: False
    deaths: Counter[str] = field(default_factory=Counter)
    most: int = 0

    def executor(self) -> Executor:
        return SimulatedTune(self)


class SimulatedTune:
    """Tune in this process: it asks for trials, steps one that it has, and stops it when it is told to."""

    def __init__(self, track: Handed) -> None:
        self._track, self._shared = track, SimulatedExecutor(track)
        self._adapter = TuneAdapter(track.store.root, track.workers)
        self._tasks: dict[str, StageTask] = {}
        """What has been started, by key."""
        self._trials: dict[str, tuple[int, list[str]]] = {}
        """Each trial's place in its jobs."""
        self._answering: str | None = None

    def __enter__(self) -> "SimulatedTune":
        return self

    def __exit__(self, *raised: object) -> None:
        """End nothing."""

    def accepts(self, task: StageTask) -> bool:
        return (self._shared if task.trial is None else self._adapter).accepts(task)

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        self._tasks |= {one.stage.key: one for one in (task, *following)}
        (self._shared if task.trial is None else self._adapter).start(task, following)

    def finished(self) -> Sequence[TaskEnd]:
        if self._shared.busy:
            return self._shared.finished()
        if self._answering is not None:
            name, self._answering = self._answering, None
            if self._adapter.goes_on(name) == STOP:
                del self._trials[name]
                return ()
        while len(self._trials) < self._track.workers and (told := self._adapter.next_trial()) is not None:
            assert told["trial"] not in self._trials
            self._trials[told["trial"]] = (0, told["jobs"])
        self._track.most = max(self._track.most, len(self._trials))
        return self._step(self._track.order.choice(sorted(self._trials)))

    def _step(self, name: str) -> Sequence[TaskEnd]:
        """Do a trial's next stage."""
        place, jobs = self._trials[name]
        key = json.loads(jobs[place])["key"]
        if self._track.dies(key, self._track.deaths[key]):
            self._track.deaths[key] += 1
            del self._trials[name]
            died = self._adapter.died(name, "The actor died.")
            return () if died is None else (died,)
        end = self._track.end(self._tasks[key])
        assert isinstance(end, Outcome)
        self._trials[name] = (place + 1, jobs)
        values = {"status": end.status.value, "result": dict(end.result), "seconds": 1.0, "warm_up_seconds": 8.0}
        ended = self._adapter.take(name, place + 1, json.dumps(values))
        self._answering = name if ended else None
        return () if ended is None else (ended,)


@pytest.mark.parametrize("times", range(ATTEMPTS + 1))
def test_a_stage_is_tried_again_until_its_process_has_died_three_times_and_no_death_counts_twice(
    tmp_path: Path, times: int
) -> None:
    run = Handed(small_table(tmp_path), tmp_path, dies=lambda key, before: before < times)
    histories = run.run().histories
    if times < ATTEMPTS:
        assert {history.status for history in histories} == {TrialStatus.FINISHED}
        return
    for history in histories:
        (failed,) = [record for record in history.records if record.status is Status.FAILED]
        assert failed.result["error"] == f"the trial's process died {ATTEMPTS} times: The actor died."
        assert failed.result["attempts"] == ATTEMPTS


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(0, 10_000))
def test_a_search_decides_the_same_wherever_processes_die(
    tmp_path_factory: pytest.TempPathFactory, workers: int, seed: int
) -> None:
    """Trials wait at hurdles and are handed out again behind them, on however many workers."""
    folder = tmp_path_factory.mktemp("hall")
    chance = random.Random(seed)
    quiet = Track(small_search(folder_of(folder, "quiet")), folder / "quiet", curve).run()
    storm = Handed(
        small_search(folder_of(folder, "storm")),
        folder / "storm",
        workers=workers,
        order=chance,
        dies=lambda key, before: before < ATTEMPTS - 1 and chance.random() < 0.3,
    )
    assert found(storm.run()) == found(quiet)
    assert storm.most <= workers


@given(st.integers(1, 64), st.integers(1, 200))
def test_as_many_trials_fit_on_the_gpus_as_run_at_a_time_with_the_largest_share(gpus: int, workers: int) -> None:
    share = gpu_share(gpus, workers)
    a_gpu_holds = round(1 / share)
    assert a_gpu_holds * gpus >= workers
    assert (a_gpu_holds - 1) * gpus < workers
    assert gpu_share(0, workers) == 0.0
