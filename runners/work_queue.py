"""What an engine is given to do and gives back: the border between deciding and placing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ledger.artifacts import Outcome
from ledger.records import Record, Status, TrialRow, TrialStatus
from runners.stages.stage import Stage


@dataclass(frozen=True)
class StageTask:
    """One stage of one trial, or of none."""

    trial: str | None
    label: str
    stage: Stage


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


class WorkQueue(Protocol):
    """Knows what may run now and what each end means. Called from the driver's one thread only."""

    recorded: list[Record]
    """What this run has added to the ledger."""

    def next_work(self) -> StageTask | None:
        """Return a stage that may start now and mark it started, None where nothing is ready."""

    def finish(self, work: StageTask, end: Outcome | Failure) -> None:
        """Take in how a started stage ended; on return it is in the ledger."""

    @property
    def running(self) -> tuple[StageTask, ...]:
        """What has been started and has not ended."""

    @property
    def done(self) -> tuple[StageTask, ...]:
        """Every stage that has ended: in an earlier run, in the stage cache or in this run."""

    @property
    def remaining(self) -> tuple[StageTask, ...]:
        """What is still to be done, running stages included."""

    @property
    def standings(self) -> tuple[tuple[TrialRow, TrialStatus], ...]:
        """How each trial that has been declared stands, in the order of the table; empty where there are none."""

    @property
    def over(self) -> bool:
        """Whether nothing is running and nothing will become ready."""
