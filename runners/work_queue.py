"""Tasks and failures: the interface between the scheduler and the executors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.stages.stage import Stage
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Status

TaskId = tuple[str | None, str]
"""A trial's name, None for shared stages, and a stage's label."""


@dataclass(frozen=True)
class StageTask:
    """One stage of a trial, or one shared stage."""

    trial: str | None
    label: str
    stage: Stage

    @property
    def task_id(self) -> TaskId:
        """Identity of the task, independent of the stage's declaration."""
        return self.trial, self.label


@dataclass(frozen=True)
class Failure:
    """The reason why a stage has no outcome."""

    error: str
    """One line for the user."""
    trace: str = ""
    exit_code: int | None = None
    """Exit code of a UserError, which ends the run; None for other exceptions."""
    worker_died: bool = False
    """Whether the process ended without an answer; the stage may be retried."""

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> "Failure":
        """Return the failure in a worker's answer."""
        code = answer.get("exit_code")
        exit_code = code if isinstance(code, int) else None
        return cls(str(answer["error"]), str(answer.get("trace", "")), exit_code)


def outcome_of(answer: Mapping[str, Any]) -> Outcome | Failure:
    """Return the outcome in a worker's answer, which consists of plain values."""
    if "error" in answer:
        return Failure.of(answer)
    status, warm_up_seconds = Status(answer["status"]), answer["warm_up_seconds"]
    return Outcome(status, answer["result"], answer["seconds"], warm_up_seconds)
