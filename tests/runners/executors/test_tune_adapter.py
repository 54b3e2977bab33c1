"""An executor of whole trials decides nothing: stops, waits and deaths of processes leave what the course decides."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.artifacts import Outcome
from ledger.records import Status, TrialStatus
from ledger.stage_results import FailedStage
from runners.executors.ray_trainable import gpu_share
from runners.executors.tune_adapter import CONTINUE, FINISHED, TuneAdapter
from runners.scheduling.course import Course
from runners.scheduling.groundwork import ATTEMPTS
from runners.work_queue import StageTask, WorkQueue
from tests.factories.simulated_training import Track, curve, folder_of, found, publish, small_search, small_table

Dies = Callable[[str, int], bool]
"""Whether the process of a stage dies, by its key and how often it did before."""


@dataclass
class Handed(Track):
    """Runs trials as Tune does: handed out whole, stepped one stage at a time, told of each end."""

    dies: Dies = lambda key, times: False
    deaths: Counter[str] = field(default_factory=Counter)
    most: int = 0

    def work_off(self, agenda: WorkQueue) -> None:
        if not isinstance(agenda, Course):
            return super().work_off(agenda)
        hall = TuneAdapter(agenda, self.store.root)
        trials: dict[str, tuple[int, list[str]]] = {}
        while True:
            while len(trials) < self.workers and isinstance(told := hall.next_trial(), dict):
                assert told["trial"] not in trials
                trials[told["trial"]] = (0, told["jobs"])
            if not trials:
                assert hall.next_trial() == FINISHED
                assert agenda.over
                return None
            self.most = max(self.most, len(trials))
            name = self.order.choice(sorted(trials))
            if self._step(hall, agenda, name, *trials[name]):
                trials[name] = (trials[name][0] + 1, trials[name][1])
            else:
                del trials[name]

    def _step(self, hall: TuneAdapter, course: Course, name: str, place: int, jobs: list[str]) -> bool:
        """Do a trial's next stage; return whether the trial goes on."""
        key = json.loads(jobs[place])["key"]
        if self.dies(key, self.deaths[key]):
            self.deaths[key] += 1
            hall.died(name, "The actor died.")
            return False
        stages = course.trials[name].stages
        work = next(StageTask(name, label, stage) for label, stage in stages.items() if stage.key == key)
        end = self.answer(work)
        assert isinstance(end, Outcome)
        if self.publishes:
            publish(self.store, work, end)
        values = {"status": end.status.value, "result": dict(end.result), "seconds": 1.0, "warm_up_seconds": 8.0}
        return hall.take(name, place + 1, json.dumps(values)) == CONTINUE


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
        assert isinstance(failed.result, FailedStage)
        assert failed.result.error == f"the trial's process died {ATTEMPTS} times: The actor died."
        assert failed.result.attempts == ATTEMPTS


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
