"""Executors, one per file: they run stages in local processes or on Ray, without decisions or persistent state."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

from runners.settings import RunSettings
from runners.work_queue import Failure, StageTask
from steeplechase.foundation.locking import Holder
from steeplechase.ledger.artifacts import Outcome

TaskEnd = tuple[StageTask, Outcome | Failure]


class Executor(Protocol):
    """Runs tasks; on exit it ends every process that it started."""

    def __enter__(self) -> "Executor":
        """Prepare; processes start with the first task."""

    def __exit__(self, *raised: object) -> None:
        """End every process; the next run resumes a stage that was running."""

    def accepts(self, task: StageTask) -> bool:
        """Return whether a task can be started now."""

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        """Start a task. `following` are the later stages of its trial, in order, as far as known."""

    def end_worker(self, task: StageTask, holder: Holder | None) -> bool:
        """Kill the worker of a running task, whose death `finished` then returns; return whether that was possible.

        `holder` is the process that holds the lock of its stage, if any.
        """

    def finished(self) -> Sequence[TaskEnd]:
        """Wait briefly and return the tasks that have ended, possibly none."""


def open_executor(store: Path, settings: RunSettings, trains_on_gpu: bool = False) -> Executor:
    """Return the executor that the settings name, for arms that may declare a GPU as their device."""
    module = import_module(f"runners.executors.{settings.engine}")
    executor: Executor = module.open_executor(store, settings, trains_on_gpu)
    return executor
