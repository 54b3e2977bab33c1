"""Where stages run: one file per executor. Executors place tasks; they decide nothing and remember nothing."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

from ledger.artifacts import Outcome
from runners.work_queue import Failure, StageTask

ENGINES = ("local", "ray")
TaskEnd = tuple[StageTask, Outcome | Failure]


class Executor(Protocol):
    """Runs tasks; leaving its context ends every process it started."""

    def __enter__(self) -> "Executor":
        """Start nothing that is not needed yet."""

    def __exit__(self, *raised: object) -> None:
        """End every process; a stage that was running is carried on by the next run."""

    def accepts(self, task: StageTask) -> bool:
        """Return whether a task can be started now."""

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        """Start a task. `following` are the further stages of its trial, in order, as far as they are known."""

    def finished(self) -> Sequence[TaskEnd]:
        """Wait for a moment and return the tasks that have ended; none where none has."""


def open_executor(name: str, store: Path, workers: int, address: str | None) -> Executor:
    """Return the executor of that name."""
    module = import_module(f"runners.executors.{name}")
    executor: Executor = module.open_executor(store, workers, address)
    return executor
