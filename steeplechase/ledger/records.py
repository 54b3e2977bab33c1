"""Rows of the ledger: arms, trials, records of stages, and decisions at hurdles. All are immutable."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, Field, FiniteFloat, SkipValidation

from steeplechase.configuration.arm import Arm
from steeplechase.configuration.metrics import primary_metric
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.foundation.names import Sha256
from steeplechase.foundation.schema import JsonValue, Seed, Whole
from steeplechase.ledger.stage_results import (
    EvaluationSetResult,
    FineTuneResult,
    Pretraining,
    PretrainResult,
    StageResult,
    finite,
)

EVALUATION_SET = "evaluation_set"
"""The label of the evaluation set of the baseline; those of other objectives name their evaluation too."""
R = TypeVar("R")
Flops = Annotated[int, Field(ge=0, le=10**30)]


def _label(text: str) -> str:
    StageLabel.parse(text)
    return text


Label = Annotated[str, AfterValidator(_label)]
"""The text of a stage's label; a number in it has few enough digits to be read."""

WITHOUT_SCALES = "whole"
"""The name of the scale of an experiment file without scales."""


class Status(StrEnum):
    """Final status of a stage."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    """The loss was not finite: a result of the candidate, reported but never ranked."""
    FAILED = "failed"
    """The stage raised or its worker died: no result; the next `run` repeats it."""


class TrialStatus(StrEnum):
    """Status of a trial, as in tables and MLflow."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    DIVERGED = "diverged"
    FAILED = "failed"


NOT_ENDED = (TrialStatus.WAITING, TrialStatus.RUNNING)
"""Statuses of trials that go on."""


@dataclass(frozen=True, kw_only=True)
class ArmRow(Arm):
    """An arm in the ledger, with its position and its costs."""

    position: Whole
    """Row in the table."""
    cohort: Whole
    parameters: Whole
    """Encoder with embeddings, without heads."""
    forward_flops: Flops
    """Encoder, one sequence of the recipe's length."""
    train_flops: Flops
    """Full pretraining of one trial, generator and heads included."""
    after_record: Whole = 0
    """Number of the last record of a trial before the arm was declared; 0 if there was none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmWithoutCandidate:
    """A row of an arm as a driver keeps it: a candidate is ten times as large as all else that is known of it."""

    name: str
    changes: Mapping[str, JsonValue]
    fingerprint: str
    cohort: int
    parameters: int
    forward_flops: int
    train_flops: int
    tuning_trial_of: str | None
    tuned_from: str | None
    final_of: str | None

    @classmethod
    def of(cls, row: ArmRow) -> Self:
        """Return the row without its candidate."""
        return cls(**{each.name: getattr(row, each.name) for each in fields(cls)})


KnownArm = ArmRow | ArmWithoutCandidate
"""What a search goes by: the row of an arm in a ledger, or in a driver's memory."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One candidate at one pretraining seed."""

    name: str
    """`arm/seed`."""
    arm: str
    seed: Seed
    cohort: Whole | None = None
    """Set if the trial repeats a candidate of an earlier cohort at another seed; else it is the arm's."""


@dataclass(frozen=True, slots=True)
class Record:
    """Result of one stage of one trial. `trial` is None for stages that all trials share."""

    sequence: Whole
    trial: str | None
    stage: str
    """The stage's kind: corpus, tokens, evaluation_set, examples, pretrain, fine_tune, attention, …; `probe` for a
    fine-tuning whose score only a hurdle uses."""
    label: Label
    """The stage within its trial, as `StageLabel` reads it: `pretrain@500000`, `probe@500000`, `docs_pair#1`."""
    key: Sha256
    status: Status
    result: SkipValidation[StageResult]
    seconds: Annotated[FiniteFloat, Field(ge=0)]
    """Duration of the process that ended the stage, on the machine that computed it; never in a table."""
    reused: bool
    """Whether the result was cached."""

    @property
    def total_seconds(self) -> float:
        """The duration with that of killed processes, up to the checkpoint that the last one went on from."""
        earlier = self.result.earlier_seconds if isinstance(self.result, PretrainResult) else None
        return self.seconds + (earlier or 0.0)


def with_results(records: Iterable[Record], kind: type[R]) -> Iterator[tuple[Record, R]]:
    """Yield the records with a result of this type, each with the result."""
    for record in records:
        if isinstance(record.result, kind):
            yield record, record.result


def shared_evaluation_set(records: Iterable[Record]) -> EvaluationSetResult | None:
    """Return the latest evaluation set that the baseline is measured on; None before it is made."""
    found = [
        result for record, result in with_results(records, EvaluationSetResult) if record.label == EVALUATION_SET
    ]
    return found[-1] if found else None


def final_loss_of(record: Record) -> float | None:
    """Return the held-out loss at the end of a finished pretraining stage, None for any other record."""
    return finite(record.result.held_out_loss) if isinstance(record.result, PretrainResult) else None


def primary_score(record: Record) -> float | None:
    """Return a fine-tuning record's score by its task's primary metric; None if the record has no scores."""
    result = record.result
    if not isinstance(result, FineTuneResult):
        return None
    return result.score(result.primary_metric or primary_metric(result.task))


def curve_of(record: Record) -> dict[int, float]:
    """Return the held-out loss in nats by tokens seen; empty if the stage is not pretraining."""
    return record.result.held_out if isinstance(record.result, Pretraining) else {}


@dataclass(frozen=True, slots=True)
class Decision:
    """A hurdle's decision on a trial, written before it takes effect."""

    sequence: Whole
    trial: str
    level: Whole
    """Hurdles are counted from 0."""
    cleared: bool
    value: FiniteFloat | None
    threshold: FiniteFloat | None
    references: Whole | None = None
    """Number of trials whose values give the threshold; which ones follows from the hurdle and the rows before."""
    cohort: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """In older ledgers, as large as the square of their trials, the names of these trials in place of the number."""

    @property
    def compared_with(self) -> int:
        """The number of these trials, of ledgers of any version."""
        return len(self.cohort) if self.references is None else self.references
