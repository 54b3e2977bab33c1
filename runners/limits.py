"""Limits of a whole run: wall-clock, pretraining tokens, cost. Pure.

A run that reaches a limit is incomplete and resumable. Tokens and cost are of the whole ledger, so that they hold
over any number of sessions; what was taken from the cache or from other results counts for neither.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import typer

from runners.flags import WrongSetting
from runners.stages.pretrain import PretrainStage
from runners.work_queue import StageTask
from steeplechase.foundation.errors import StoppedError
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


def seconds_in(text: str) -> float:
    """Return a duration such as 90s, 45m, 2h or 1.5d in seconds. Raises BadParameter."""
    number, unit = text[:-1], text[-1:].lower()
    try:
        seconds = float(number) * UNITS[unit]
    except (KeyError, ValueError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise typer.BadParameter(f"{text!r} is not a time; write 90s, 45m, 2h or 1.5d")
    return seconds


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a run; None: no limit."""

    stop_after: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            parser=seconds_in,
            help="Wall-clock of this command, such as 45m or 2h; the same command then resumes.",
        ),
    ] = None
    """Seconds; running stages are interrupted and later resume from their checkpoints."""
    stop_after_tokens: Annotated[
        float | None, typer.Option(min=1, help="Pretraining tokens of the whole experiment, over all its sessions.")
    ] = None
    """No stage starts that would exceed them."""
    stop_after_cost: Annotated[
        float | None, typer.Option(min=0, help="Cost of the whole experiment, at --price-per-hour.")
    ] = None
    """In the currency of the price; running stages are interrupted."""
    price_per_hour: Annotated[
        float | None, typer.Option(min=0, help="Price of one worker for an hour, for --stop-after-cost.")
    ] = None
    """Of one process of a running stage."""
    stage_limit: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            parser=seconds_in,
            help="A stage without progress for so long is tried again by a new worker. Default: "
            "20 times the longest of its kind, at least 1h.",
        ),
    ] = None
    """Seconds, after which its worker counts as dead; None: derived."""

    def refuse_contradictions(self) -> None:
        """Raise WrongSetting for a cost without a price, a price alone, or a number that is none."""
        if (self.stop_after_cost is None) != (self.price_per_hour is None):
            raise WrongSetting("stop_after_cost", "--stop-after-cost and --price-per-hour go together")
        for name in ("stop_after_tokens", "stop_after_cost", "price_per_hour"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise WrongSetting(name, f"{value} is no number to stop at")

    @property
    def watched(self) -> bool:
        """Whether there is any limit."""
        return (self.stop_after, self.stop_after_tokens, self.stop_after_cost) != (None, None, None)

    def reached(self, spent: Spent) -> str | None:
        """Return the limit that ends the run at once, None if there is none."""
        if self.stop_after is not None and spent.seconds >= self.stop_after:
            return f"--stop-after {time_text(self.stop_after)}"
        price = self.price_per_hour or 0.0
        cost = spent.stage_seconds / SECONDS_PER_HOUR * price
        if self.stop_after_cost is not None and cost >= self.stop_after_cost:
            return f"--stop-after-cost {self.stop_after_cost:g} at {price:g} per worker and hour"
        return None

    def allows(self, task: StageTask, spent: Spent) -> bool:
        """Return whether the task may start within the token limit."""
        tokens = tokens_of(task)
        return self.stop_after_tokens is None or not tokens or spent.tokens + tokens <= self.stop_after_tokens

    def barred(self, spent: Spent) -> str:
        """Return the limit because of which none of the remaining stages may start."""
        return f"--stop-after-tokens {int(self.stop_after_tokens or 0)}, of which {spent.tokens} are used"


UNLIMITED = Limits()


def tokens_of(task: StageTask) -> int:
    """Return the tokens that a stage pretrains on, 0 if it does not pretrain a trial's model."""
    declaration = task.stage.declaration
    if task.trial is None or not isinstance(declaration, PretrainStage):
        return 0
    recipe = declaration.candidate.recipe
    return recipe.tokens_after(declaration.to_step) - recipe.tokens_after(declaration.from_step)


def time_text(seconds: float) -> str:
    """Return a duration in the largest unit that leaves a number of at least 1."""
    unit = max((name for name in UNITS if seconds >= UNITS[name]), key=UNITS.__getitem__, default="s")
    return f"{seconds / UNITS[unit]:g}{unit}"
