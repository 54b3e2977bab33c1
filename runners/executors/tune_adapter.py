"""Between tasks and an executor of whole trials, such as Ray Tune: which trial is next, and whether it goes on."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.artifacts import Outcome
from runners.executors.worker import as_line
from runners.stages.stage import Job
from runners.work_queue import Failure, StageTask, end_of

CONTINUE, STOP = "CONTINUE", "STOP"  # what Tune's schedulers answer


@dataclass
class _HandedOut:
    """A trial with the stages that it still had to do when it was handed out."""

    tasks: Sequence[StageTask]
    current: StageTask | None
    """The task that was started last; None where it has ended and no other was started."""
    asked: bool = False
    """Whether Tune has been given the trial."""


class TuneAdapter:
    """Holds as many trials as there are workers, each with the task that it is at.

    A trial of which no further task is started, because it has ended or waits at a hurdle, is stopped, and handed out
    again with its remaining stages once one is; so is one whose process died. Tune thus never holds a trial that does
    not run.
    """

    def __init__(self, store: Path, workers: int) -> None:
        self._store, self._workers = str(store), workers
        self._held: dict[str, _HandedOut] = {}
        self._deaths: Counter[tuple[str, str]] = Counter()

    def accepts(self, task: StageTask) -> bool:
        """Return whether a task can be started: its trial has just ended another one, or there is a worker for it."""
        assert task.trial is not None
        held = self._held.get(task.trial)
        return len(self._held) < self._workers if held is None else held.current is None

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        """Start a task: its trial goes on, or is handed out next with the stages that follow."""
        assert task.trial is not None
        held = self._held.setdefault(task.trial, _HandedOut([task, *following], None))
        held.current = task

    def next_trial(self) -> dict[str, Any] | None:
        """Return the next trial's configuration, None where no further one has a task."""
        for name, held in self._held.items():
            if not held.asked:
                held.asked = True
                return {"trial": name, "jobs": [as_line(Job.of(task.stage, self._store)) for task in held.tasks]}
        return None

    def take(self, name: str, step: int, line: str) -> tuple[StageTask, Outcome | Failure] | None:
        """Return the task that a trial's step has ended, None where the step was a stage that is known already."""
        held = self._held[name]
        task = held.tasks[step - 1]
        if held.current is None or task.place != held.current.place:
            return None
        held.current = None
        return task, end_of(json.loads(line))

    def goes_on(self, name: str) -> str:
        """Return what a trial does after a step; one that has no task is let go of."""
        if self._held[name].current is not None:
            return CONTINUE
        del self._held[name]
        return STOP

    def died(self, name: str, why: str) -> tuple[StageTask, Failure] | None:
        """Let go of a trial whose process died; return its task, None where it died behind its last one."""
        held = self._held.pop(name, None)
        if held is None or held.current is None:
            return None
        self._deaths[name, held.current.label] += 1
        times = self._deaths[name, held.current.label]
        error = f"the trial's process died {'once' if times == 1 else f'{times} times'}: {why}"
        return held.current, Failure(error, worker_died=True)
