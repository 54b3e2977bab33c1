"""The intended content of one MLflow run, as plain values, computed before MLflow is called."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from steeplechase.foundation.canonical import fingerprint

IDENTITY_TAG = "steeplechase.identity"
STUDY_TAG = "steeplechase.study"
SYNCED_TAG = "steeplechase.synced"
PARENT_TAG = "mlflow.parentRunId"
NOTE_TAG = "mlflow.note.content"
SCORE_TAG = "score_tasks"
OUTDATED_TAG = "steeplechase.outdated_parameters"
EXPERIMENT_TAG = "steeplechase.experiment"
"""Of an MLflow experiment: the experiment without its scale."""
NAME_TAG = "steeplechase.name"
"""Of an MLflow experiment: the name under which it was made; somebody may rename it."""
TRANSIENT_TAGS = ("stop_reason", "non_finite", "difference", SCORE_TAG, OUTDATED_TAG)
"""Tags that are dropped where a run has them no more, as when a trial is resumed."""
CHANGED_TAG = "steeplechase.changed"
"""Of an MLflow experiment: the time of its last changed run, in milliseconds since 1970; MLflow keeps none."""


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

    def tags_under(self, parent: "KnownRun | None") -> dict[str, str]:
        """Return the tags of the run below its parent's run."""
        return {**self.tags, **({PARENT_TAG: parent.run_id} if parent is not None else {})}

    def content(self, file_hashes: Mapping[str, str]) -> str:
        """Return the fingerprint of the run's content; the times of points only order them."""
        points = [[point.key, point.value, point.step] for point in self.points]
        document = {**asdict(replace(self, points=())), "points": points, "files": dict(file_hashes)}
        return fingerprint(
            {name: list(value) if isinstance(value, tuple) else value for name, value in document.items()}
        )


@dataclass(frozen=True)
class KnownRun:
    """A run in MLflow."""

    run_id: str
    name: str
    started: int
    """Milliseconds since 1970."""
    ended: int | None
    status: RunStatus
    tags: Mapping[str, str]
    """Empty for a run that is still to be created."""
    parameters: Mapping[str, str]
    metrics: Mapping[str, tuple[float, ...]]
    """By name: the number of values, their sum and that of their steps; of a server the latest value alone."""
    artifacts: str = ""
    """URI of the run's artifacts."""

    @property
    def synced(self) -> str:
        """Fingerprint of the last complete transmission, empty if there was none."""
        return self.tags.get(SYNCED_TAG, "")

    def end_of(self, run: MirroredRun) -> int | None:
        """Return the time at which a run ends, so that it lasts as long as its stages; None if it has not ended."""
        return self.started + max(1, run.compute_milliseconds) if run.status.ended else None

    def outdated(self, run: MirroredRun) -> dict[str, str]:
        """Return a tag with the parameters that differ, because a server's parameters are write-once."""
        changed = {key: value for key, value in run.parameters.items() if self.parameters.get(key, value) != value}
        changes = "; ".join(f"{key}: {value}" for key, value in sorted(changed.items()))
        return {OUTDATED_TAG: changes[:1000]} if changed else {}

    def holds(self, run: MirroredRun, parent: "KnownRun | None", content: str, numbers: "Numbers") -> bool:
        """Return whether MLflow has the run as it was sent, whatever somebody has changed there or added to it."""
        tags = {**run.tags_under(parent), **self.outdated(run), SYNCED_TAG: content}
        return (
            (self.status, self.name) == (run.status, run.name)
            and (not run.status.ended or self.ended == self.end_of(run))
            and tags.items() <= self.tags.items()
            and not {tag for tag in TRANSIENT_TAGS if tag in self.tags and tag not in tags}
            and run.parameters.keys() <= self.parameters.keys()
            and all(_close(self.metrics.get(name, ()), wanted) for name, wanted in numbers(run.points).items())
        )


Numbers = Callable[[Iterable[Point]], Mapping[str, tuple[float, ...]]]
"""The numbers by which a store tells whether it has the points of a run, by the name of the metric."""


def totals(points: Iterable[Point]) -> dict[str, tuple[float, ...]]:
    """Return by metric the number of its different points, the sum of their values and that of their steps."""
    found: dict[str, list[Point]] = {}
    for point in dict.fromkeys(points):
        found.setdefault(point.key, []).append(point)
    return {
        key: (len(own), math.fsum(point.value for point in own), float(sum(point.step for point in own)))
        for key, own in found.items()
    }


def latest(points: Iterable[Point]) -> dict[str, Point]:
    """Return by metric the point that MLflow shows: the last step, of equal steps the last time, then the largest."""
    found: dict[str, Point] = {}
    for point in points:
        shown = found.setdefault(point.key, point)
        if (point.step, point.milliseconds, point.value) > (shown.step, shown.milliseconds, shown.value):
            found[point.key] = point
    return found


def latest_values(points: Iterable[Point]) -> dict[str, tuple[float, ...]]:
    """Return by metric the value that MLflow shows."""
    return {key: (point.value,) for key, point in latest(points).items()}


def _close(found: tuple[float, ...], wanted: tuple[float, ...]) -> bool:
    same = (math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) for one, other in zip(found, wanted, strict=False))
    return len(found) == len(wanted) and all(same)
