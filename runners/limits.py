"""Limits of a whole run: wall-clock, pretraining tokens, cost. Pure, from the ledger's rows and the running stages.

A run that reaches a limit is incomplete and resumable. Tokens and cost are of the whole ledger, so that they hold
over any number of sessions; what was taken from the cache or from other results counts for neither.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from runners.stages.declarations import PretrainStage
from runners.work_queue import StageTask, TaskId
from steeplechase.foundation.errors import StoppedError
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.snapshot import Snapshot

SECONDS_PER_HOUR = 3600.0
UNITS = {"s": 1.0, "m": 60.0, "h": SECONDS_PER_HOUR, "d": 24 * SECONDS_PER_HOUR}


class LimitReached(StoppedError):
    """A limit ended the run; the ledger is closed, and `snapshot` is its state."""

    def __init__(self, reason: str, snapshot: Snapshot) -> None:
        self.reason, self.snapshot = reason, snapshot
        super().__init__(f"stopped by {reason}: incomplete; finished stages are kept, and the same command resumes")


@dataclass(frozen=True)
class Spent:
    """What a run has used."""

    seconds: float = 0.0
    """Wall-clock of this process."""
    tokens: int = 0
    """Pretraining tokens of computed stages in the ledger, and of the stages that are running."""
    stage_seconds: float = 0.0
    """Of computed stages in the ledger, of interrupted ones, and of those that are running, over all workers."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None: no limit."""

    seconds: float | None = None
    """Wall-clock of one process; running stages are interrupted and later resume from their checkpoints."""
    tokens: int | None = None
    """Pretraining tokens; no stage starts that would exceed them."""
    cost: float | None = None
    """In the currency of the price; running stages are interrupted."""
    price_per_hour: float = 0.0
    """Price of an hour of one worker, that is of one process of a running stage."""
    stage_seconds: float | None = None
    """Longest time of a stage without progress, after which its worker counts as dead; None: derived."""

    @property
    def watched(self) -> bool:
        """Whether there is any limit."""
        return (self.seconds, self.tokens, self.cost) != (None, None, None)

    def reached(self, spent: Spent) -> str | None:
        """Return the limit that ends the run at once, None if there is none."""
        if self.seconds is not None and spent.seconds >= self.seconds:
            return f"--stop-after {time_text(self.seconds)}"
        cost = spent.stage_seconds / SECONDS_PER_HOUR * self.price_per_hour
        if self.cost is not None and cost >= self.cost:
            return f"--stop-after-cost {self.cost:g} at {self.price_per_hour:g} per worker and hour"
        return None

    def allows(self, task: StageTask, spent: Spent) -> bool:
        """Return whether the task may start within the token limit."""
        tokens = tokens_of(task)
        return self.tokens is None or not tokens or spent.tokens + tokens <= self.tokens

    def barred(self, spent: Spent) -> str:
        """Return the limit because of which none of the remaining stages may start."""
        return f"--stop-after-tokens {self.tokens}, of which {spent.tokens} are used"


UNLIMITED = Limits()


def tokens_of(task: StageTask) -> int:
    """Return the tokens that a stage pretrains on, 0 if it does not pretrain a trial's model."""
    declaration = task.stage.declaration
    if task.trial is None or not isinstance(declaration, PretrainStage):
        return 0
    return (declaration.to_step - declaration.from_step) * declaration.candidate.recipe.tokens_per_step


def spent_in_ledger(records: Iterable[Record], task_of: Callable[[TaskId], StageTask]) -> Spent:
    """Return the tokens and seconds of the computed stages among the records; a failed one has neither."""
    computed = [record for record in records if not record.reused and record.status is not Status.FAILED]
    return Spent(
        tokens=sum(tokens_of(task_of((record.trial, record.label))) for record in computed),
        stage_seconds=sum(
            record.seconds * task_of((record.trial, record.label)).stage.declaration.processes for record in computed
        ),
    )


def seconds_in(text: str) -> float:
    """Return a duration such as 90s, 45m, 2h or 1.5d in seconds. Raises ValueError."""
    number, unit = text[:-1], text[-1:].lower()
    if unit not in UNITS:
        raise ValueError(text)
    seconds = float(number) * UNITS[unit]
    if not 0 < seconds < float("inf"):
        raise ValueError(text)
    return seconds


def time_text(seconds: float) -> str:
    """Return a duration in the largest unit that leaves a number of at least 1."""
    unit = max((name for name in UNITS if seconds >= UNITS[name]), key=UNITS.__getitem__, default="s")
    return f"{seconds / UNITS[unit]:g}{unit}"
