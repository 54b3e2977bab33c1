"""One run as it should stand in MLflow: plain values, known before MLflow is asked anything."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from foundation.schema import fingerprint

IDENTITY_TAG = "steeplechase.identity"
STUDY_TAG = "steeplechase.study"
SYNCED_TAG = "steeplechase.synced"
PARENT_TAG = "mlflow.parentRunId"
NOTE_TAG = "mlflow.note.content"
OUTDATED_TAG = "steeplechase.outdated_parameters"


class RunStatus(StrEnum):
    """How MLflow shows a run."""

    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    KILLED = "KILLED"
    """Stopped at a hurdle."""
    FAILED = "FAILED"
    """Diverged, or failed."""

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self not in (RunStatus.SCHEDULED, RunStatus.RUNNING)


@dataclass(frozen=True)
class Point:
    """One value of a metric. The time counts from the run's start, so that sending it again changes nothing."""

    key: str
    value: float
    step: int = 0
    """Tokens, on curves; 0 on single values, which MLflow then draws as bars."""
    milliseconds: int = 0


@dataclass(frozen=True)
class MirroredRun:
    """One run, its place under its parent, and everything that it shows."""

    identity: str
    parent: str | None
    """Identity of the run above."""
    name: str
    order: int
    """Place in the table; the study's own run is 0."""
    status: RunStatus
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    points: tuple[Point, ...]
    compute_milliseconds: int
    """What the stages took where they were computed; MLflow shows it as the run's duration."""
    texts: Mapping[str, str]
    """Artifact name to text."""
    files: tuple[Path, ...] = ()
    """Files attached as they are."""

    def content(self, file_hashes: Mapping[str, str]) -> str:
        """Return the fingerprint of all that the run shows."""
        document = {**asdict(self), "files": dict(file_hashes)}
        return fingerprint(
            {name: list(value) if isinstance(value, tuple) else value for name, value in document.items()}
        )
