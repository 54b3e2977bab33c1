"""A simulated Ray Tune in this process: trials, stepped one stage at a time, in random order."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runners.executors import Executor, TaskEnd
from runners.executors.tune_adapter import STOP, TuneAdapter
from runners.work_queue import Failure, StageTask
from steeplechase.foundation.locking import Holder
from steeplechase.ledger.artifacts import Outcome
from tests.factories.simulated_training import SimulatedExecutor, Track

DIED = Failure("The actor died.", worker_died=True)
Dies = Callable[[str, int], bool]
"""Whether the process of a stage dies, by its key and how often it did before."""


@dataclass
class Handed(Track):
    """Runs trials as Tune does, one stage per step."""

    dies: Dies = lambda key, times: False
    deaths: Counter[str] = field(default_factory=Counter)
    most: int = 0

    def executor(self) -> Executor:
        return SimulatedTune(self)


class SimulatedTune:
    """Tune in this process: requests trials, steps one of them, and stops it on request."""

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

    def end_worker(self, task: StageTask, holder: Holder | None) -> bool:
        return False

    def finished(self) -> Sequence[TaskEnd]:
        if self._shared.busy:
            return self._shared.finished()
        if self._answering is not None:
            name, self._answering = self._answering, None
            if self._adapter.continue_or_stop(name) == STOP:
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
        end = DIED if self._track.dies(key, self._track.deaths[key]) else self._track.end(self._tasks[key])
        if isinstance(end, Failure) and end.worker_died:
            self._track.deaths[key] += 1
            del self._trials[name]
            died = self._adapter.died(name, end.error)
            return () if died is None else (died,)
        self._trials[name] = (place + 1, jobs)
        ended = self._adapter.take(name, place + 1, json.dumps(_answer(end)))
        self._answering = name if ended else None
        return () if ended is None else (ended,)


def _answer(end: Outcome | Failure) -> dict[str, Any]:
    """Return what a worker answers."""
    if isinstance(end, Failure):
        return {"error": end.error, "trace": end.trace}
    return {"status": end.status.value, "result": dict(end.result), "seconds": 1.0, "warm_up_seconds": 8.0}
