"""What an executor is given to do and gives back: the border between deciding and placing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ledger.artifacts import Outcome
from ledger.records import Status
from runners.stages.stage import Stage

Place = tuple[str | None, str]
"""A trial's name, or none, and the label of a stage in it."""


@dataclass(frozen=True)
class StageTask:
    """One stage of one trial, or of none."""

    trial: str | None
    label: str
    stage: Stage

    @property
    def place(self) -> Place:
        """Which stage it is, whatever has been declared for it."""
        return self.trial, self.label


@dataclass(frozen=True)
class Failure:
    """Why a stage has no outcome."""

    error: str
    """One line for people."""
    trace: str = ""
    exit_code: int | None = None
    """Set where the stage refused its input: the whole run stops with it."""
    worker_died: bool = False
    """The process ended without an answer; the stage may be tried again."""

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> "Failure":
        """Return the failure that a worker told of."""
        code = answer.get("exit_code")
        return cls(str(answer["error"]), str(answer.get("trace", "")), code if isinstance(code, int) else None)


def end_of(answer: Mapping[str, Any]) -> Outcome | Failure:
    """Return how a stage ended, from the plain values in which a worker answers."""
    if "error" in answer:
        return Failure.of(answer)
    status, warm_up_seconds = Status(answer["status"]), answer["warm_up_seconds"]
    return Outcome(status, answer["result"], answer["seconds"], warm_up_seconds)
