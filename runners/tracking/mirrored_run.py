"""The intended content of one MLflow run, as plain values, computed before MLflow is called."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.schema import JsonValue

IDENTITY_TAG = "steeplechase.identity"
STUDY_TAG = "steeplechase.study"
SYNCED_TAG = "steeplechase.synced"
PARENT_TAG = "mlflow.parentRunId"
NOTE_TAG = "mlflow.note.content"
STOP_REASON = "stop_reason"
"""A tag that is emptied where a run has it no more, as when a trial is resumed."""


class RunStatus(StrEnum):
    """Status of a run in MLflow."""

    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    KILLED = "KILLED"
    """Interrupted by a limit, a signal or an error."""
    FAILED = "FAILED"
    """Diverged, or failed."""

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self not in (RunStatus.SCHEDULED, RunStatus.RUNNING)


@dataclass(frozen=True)
class Point:
    """One value of a metric. The time of a curve's point is fixed, so that resending it changes nothing."""

    key: str
    value: float
    step: int = 0
    """Tokens, on curves; 0 on single values, which MLflow then draws as bars."""
    milliseconds: int = 0
    """On curves, since the run's start; a single value has the time of sending, because MLflow shows the latest."""


@dataclass(frozen=True)
class MirroredRun:
    """One run, its parent, and all its content."""

    identity: str
    parent: str | None
    """Identity of the parent run."""
    name: str
    status: RunStatus
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    points: tuple[Point, ...]
    compute_milliseconds: int
    """Sum of the stages' durations; MLflow shows it as the duration of the run."""

    def content(self, parent: str | None) -> str:
        """Return the fingerprint of the run's content below a run of MLflow; the times of points only order them."""
        document: dict[str, JsonValue] = {
            "parent": parent,
            "name": self.name,
            "status": self.status.value,
            "tags": {**self.tags},
            "parameters": {**self.parameters},
            "points": [[point.key, point.value, point.step] for point in self.points],
            "milliseconds": self.compute_milliseconds,
        }
        return fingerprint(document)


@dataclass(frozen=True)
class KnownRun:
    """A run in MLflow."""

    run_id: str
    started: int
    """Milliseconds since 1970."""
    status: RunStatus
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    """By name the value that MLflow shows."""

    def contradicts(self, run: MirroredRun) -> bool:
        """Whether a parameter differs, which MLflow never changes."""
        return any(self.parameters.get(key, value) != value for key, value in run.parameters.items())
