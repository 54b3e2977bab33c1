"""Adapter from tasks to an executor of trials, such as Ray Tune: the next trial, and whether a trial continues."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.executors.worker import as_line
from runners.stages.stage import Job
from runners.work_queue import Failure, StageTask, outcome_of
from steeplechase.ledger.artifacts import Outcome

CONTINUE, STOP = "CONTINUE", "STOP"  # decisions of Tune's schedulers


@dataclass
class _RunningTrial:
    """A running trial with the stages that were pending when it started."""

    tasks: Sequence[StageTask]
    current: StageTask | None
    """The running task; None if it has ended and no other was started."""
    suggested: bool = False
    """Whether Tune has received the trial."""

    @property
    def processes(self) -> int:
        """The most processes of any of its stages."""
        return max(task.stage.declaration.processes for task in self.tasks)


def name_of(task: StageTask) -> str:
    """Return the trial of a task; a shared stage is one of its own, whose name no arm can have."""
    return f"shared {task.label}" if task.trial is None else task.trial


class TuneAdapter:
    """Holds at most one trial per worker, with its running task.

    A trial without a started task, because it has ended or waits at a hurdle, is stopped in Tune; it is suggested
    again with its pending stages when a task is started, as is a trial whose process died. Tune thus never holds an
    idle trial.
    """

    def __init__(self, store: Path, workers: int, objects: str = "") -> None:
        self._store, self._workers, self._objects = str(store), workers, objects
        self._running: dict[str, _RunningTrial] = {}
        self._deaths: Counter[tuple[str, str]] = Counter()

    @property
    def busy(self) -> bool:
        """Whether any trial is running."""
        return bool(self._running)

    def accepts(self, task: StageTask) -> bool:
        """Return whether a task can be started: its trial is running and idle, or a worker is free."""
        if (known := self._running.get(name_of(task))) is not None:
            return known.current is None
        processes = sum(running.processes for running in self._running.values()) + task.stage.declaration.processes
        return not self._running or processes <= self._workers

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        """Start a task: its trial continues, or is suggested next with the following stages."""
        running = self._running.setdefault(name_of(task), _RunningTrial([task, *following], None))
        running.current = task

    def next_trial(self) -> dict[str, Any] | None:
        """Return the configuration of the next trial to suggest, None if there is none."""
        for name, running in self._running.items():
            if not running.suggested:
                running.suggested = True
                jobs = [as_line(Job.of(task.stage, self._store, self._objects)) for task in running.tasks]
                return {"trial": name, "jobs": jobs, "processes": running.processes}
        return None

    def take(self, name: str, step: int, line: str) -> tuple[StageTask, Outcome | Failure] | None:
        """Return the task that a trial's step has ended, None if the step was a stage recorded before."""
        running = self._running[name]
        task = running.tasks[step - 1]
        if running.current is None or task.task_id != running.current.task_id:
            return None
        running.current = None
        return task, outcome_of(json.loads(line))

    def continue_or_stop(self, name: str) -> str:
        """Return CONTINUE or STOP for a trial after a step; a trial without a task is stopped and dropped."""
        if self._running[name].current is not None:
            return CONTINUE
        del self._running[name]
        return STOP

    def died(self, name: str, reason: str) -> tuple[StageTask, Failure] | None:
        """Drop a trial whose process died; return its task, None if it had none."""
        running = self._running.pop(name, None)
        if running is None or running.current is None:
            return None
        self._deaths[name, running.current.label] += 1
        times = self._deaths[name, running.current.label]
        error = f"the trial's process died {'once' if times == 1 else f'{times} times'}: {reason}"
        return running.current, Failure(error, worker_died=True)
