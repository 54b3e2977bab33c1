"""The intended content of one MLflow run, as plain values, computed before MLflow is called."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from foundation.schema import fingerprint

IDENTITY_TAG = "steeplechase.identity"
STUDY_TAG = "steeplechase.study"
SYNCED_TAG = "steeplechase.synced"
PARENT_TAG = "mlflow.parentRunId"
NOTE_TAG = "mlflow.note.content"
SCORE_TAG = "score_tasks"
OUTDATED_TAG = "steeplechase.outdated_parameters"
EXPERIMENT_TAG = "steeplechase.experiment"
"""Of an MLflow experiment: the experiment without its scale."""
CHANGED_TAG = "steeplechase.changed"
"""Of an MLflow experiment: the time of its last changed run, in milliseconds since 1970; MLflow keeps none."""


class RunStatus(StrEnum):
    """Status of a run in MLflow."""

    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    KILLED = "KILLED"
    """Stopped at a hurdle, or interrupted by a limit, a signal or an error."""
    FAILED = "FAILED"
    """Diverged, or failed."""

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self not in (RunStatus.SCHEDULED, RunStatus.RUNNING)


@dataclass(frozen=True)
class Point:
    """One value of a metric. The time is relative to the run's start, so that resending it changes nothing."""

    key: str
    value: float
    step: int = 0
    """Tokens, on curves; 0 on single values, which MLflow then draws as bars."""
    milliseconds: int = 0


@dataclass(frozen=True)
class MirroredRun:
    """One run, its parent, and all its content."""

    identity: str
    parent: str | None
    """Identity of the parent run."""
    name: str
    order: int
    """Row of the table; the run of the study is 0."""
    status: RunStatus
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    points: tuple[Point, ...]
    compute_milliseconds: int
    """Sum of the stages' durations; MLflow shows it as the duration of the run."""
    texts: Mapping[str, str]
    """Artifact name to text."""
    files: tuple[Path, ...] = ()
    """Files attached unchanged."""

    def content(self, file_hashes: Mapping[str, str]) -> str:
        """Return the fingerprint of the run's content; the times of points only order them."""
        points = [[point.key, point.value, point.step] for point in self.points]
        document = {**asdict(replace(self, points=())), "points": points, "files": dict(file_hashes)}
        return fingerprint(
            {name: list(value) if isinstance(value, tuple) else value for name, value in document.items()}
        )
