"""What the ledger holds: arms, trials, records of finished stages, and decisions at hurdles. All of it immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from foundation.schema import JsonValue

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


@dataclass(frozen=True)
class ArmRow:
    """One row of the table: a candidate, how it differs from the baseline and what it costs."""

    name: str
    position: int
    cohort: int
    candidate: Mapping[str, JsonValue]
    """Canonical document: fields at their default are left out."""
    changes: Mapping[str, JsonValue]
    parameters: int
    """Encoder with embeddings, without heads."""
    forward_flops: int
    """One sequence of the recipe's length through the encoder."""
    train_flops: int
    """The whole pretraining budget of one trial, generator and heads included."""
    levels: Mapping[str, JsonValue] = field(default_factory=dict)
    """By factor of the designs that ask for the arm: the value of a path, or whether a component is there.

    The baseline has them where it is a point of a design. Empty in ledgers from before there were levels.
    """
    matches: str | None = None
    """The arm whose difference in budget this one is free of; its own name where it has the baseline's budget.

    Of several that share it the first; `matched_arm` of each names it.
    """
    matched_arm: str | None = None
    """The arm that is this one at the baseline's budget; its own name where it has that budget."""
    matched_spend: float | None = None
    """What the budget-matched copy spends, as a share of the baseline's budget."""
    tuning_trial_of: str | None = None
    """The arm for which this one is tried in tuning; it is no row of a table."""
    tuned_from: str | None = None
    """The arm that this one is at the recipe that tuning has chosen for it."""
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
    """What one stage of one trial achieved. `trial` is None for stages that all trials share.

    The result of a `pretrain` stage holds `tokens`, `held_out_loss`, `held_out_curve` [[tokens, loss], …] and
    `train_curve`; of a `fine_tune` stage `task`, `seed`, `scores` {metric: value}, `examples`; of an `examples`
    stage `task`, `bag_of_words` {metric: value} or null, `bag_of_words_examples` it learned from, `chance` or null,
    `train`, `dev`; of a `corpus` stage `content_hash` and counts; of an `attention` stage `heads` [[layer, head,
    near, far, inner near, inner far], …] and `maps`. A diverged stage holds `tokens` and `loss` (as text), a failed
    one `error`.
    """

    sequence: int
    trial: str | None
    stage: str
    """The stage's kind: corpus, tokens, questions, examples, pretrain, fine_tune, attention; `probe` for a
    fine-tuning that a hurdle looks at and no table does."""
    label: str
    """The stage within its trial: `pretrain@500000`, `probe@500000`, `docs_pair#1`."""
    key: str
    status: Status
    result: Mapping[str, JsonValue]
    seconds: float
    """Time that the stage took where it was computed; never part of a table."""
    reused: bool
    """Whether the result came from the stage cache."""


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
