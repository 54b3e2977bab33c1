"""What the ledger holds: arms, trials, records of finished stages, and decisions at hurdles. All of it immutable."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from configuration.arm import Arm
from ledger.stage_results import Pretraining, PretrainResult, StageResult, finite

R = TypeVar("R")

WITHOUT_SCALES = "whole"
"""The name of the scale where an experiment file has none."""


class Status(StrEnum):
    """How a stage ended."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    """The loss was not finite: a result of the candidate, kept and shown, never ranked."""
    FAILED = "failed"
    """The stage raised or its worker died: no result; the next `run` tries again."""


class TrialStatus(StrEnum):
    """How a trial stands, as tables and MLflow show it."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    DIVERGED = "diverged"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class ArmRow(Arm):
    """An arm as the ledger holds it: when it was declared, and what it costs."""

    position: int
    """In the table."""
    cohort: int
    parameters: int
    """Encoder with embeddings, without heads."""
    forward_flops: int
    """One sequence of the recipe's length through the encoder."""
    train_flops: int
    """The whole pretraining budget of one trial, generator and heads included."""
    after_record: int = 0
    """The last record of a trial that the ledger held when the arm was declared; 0 where there was none."""


@dataclass(frozen=True)
class TrialRow:
    """One candidate at one pretraining seed."""

    name: str
    """`arm/seed`."""
    arm: str
    seed: int
    cohort: int | None = None
    """Set where the trial repeats a candidate of an earlier cohort at another seed; else it is the arm's."""


@dataclass(frozen=True)
class Record:
    """What one stage of one trial achieved. `trial` is None for stages that all trials share."""

    sequence: int
    trial: str | None
    stage: str
    """The stage's kind: corpus, tokens, evaluation_set, examples, pretrain, fine_tune, attention, …; `probe` for a
    fine-tuning that a hurdle looks at and no table does."""
    label: str
    """The stage within its trial, as `StageLabel` reads it: `pretrain@500000`, `probe@500000`, `docs_pair#1`."""
    key: str
    status: Status
    result: StageResult
    seconds: float
    """Time that the stage took where it was computed; never part of a table."""
    reused: bool
    """Whether the result came from the stage cache."""


def with_results(records: Iterable[Record], kind: type[R]) -> Iterator[tuple[Record, R]]:
    """Yield the records whose result is of a kind, each with that result."""
    for record in records:
        if isinstance(record.result, kind):
            yield record, record.result


def final_loss_of(record: Record) -> float | None:
    """Return the held-out loss at the end of a finished stage of pretraining, None where there is none."""
    return finite(record.result.held_out_loss) if isinstance(record.result, PretrainResult) else None


def curve_of(record: Record) -> dict[int, float]:
    """Return the held-out loss in nats by tokens seen; empty where the stage is none of pretraining."""
    return record.result.held_out if isinstance(record.result, Pretraining) else {}


@dataclass(frozen=True)
class Decision:
    """A hurdle's verdict on a trial, written before it is acted on."""

    sequence: int
    trial: str
    level: int
    """Hurdles are counted from 0."""
    cleared: bool
    value: float | None
    threshold: float | None
    cohort: tuple[str, ...]
    """Trials whose values set the threshold."""
