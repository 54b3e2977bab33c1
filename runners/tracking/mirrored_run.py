"""The intended content of one MLflow run, as plain values and in words, computed before MLflow is called."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from runners.tracking.connectivity import redacted
from search_space.candidate import Candidate
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Record, Status, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import DivergedFineTuning, DivergedPretraining, FailedStage, StageResult
from steeplechase.ledger.trial_history import TrialHistory

IDENTITY_TAG = "steeplechase.identity"
STUDY_TAG = "steeplechase.study"
SYNCED_TAG = "steeplechase.synced"
PARENT_TAG = "mlflow.parentRunId"
NOTE_TAG = "mlflow.note.content"
LEVEL_TAG = "level"
HIDDEN_PREFIX = "hidden "
"""Of the level tag of a run that the study has no more."""
SCORE_TAG = "score_tasks"
OUTDATED_TAG = "steeplechase.outdated_parameters"
EXPERIMENT_TAG = "steeplechase.experiment"
"""Of an MLflow experiment: the experiment without its scale."""
NAME_TAG = "steeplechase.name"
"""Of an MLflow experiment: the name under which it was made; somebody may rename it."""
TRANSIENT_TAGS = ("stop_reason", "non_finite", "difference", SCORE_TAG, OUTDATED_TAG)
"""Tags that are dropped where a run has them no more, as when a trial is resumed."""
SUMMARIES = ("final/", "delta/", "task/", "last_rung/")
"""Beginnings of metrics that are removed where a run has them no more, as the score where no task counts now."""
CHANGED_TAG = "steeplechase.changed"
"""Of an MLflow experiment: the time of its last changed run, in milliseconds since 1970; MLflow keeps none."""


class RunStatus(StrEnum):
    """MLflow's status of a run."""

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
    """A run as MLflow has it, or as it is to be created there."""

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

    def stale(self, run: MirroredRun) -> frozenset[str]:
        """Return the summaries that MLflow has of a run and that it has no more."""
        return frozenset(key for key in self.metrics if key.startswith(SUMMARIES)) - {each.key for each in run.points}

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


INCOMPLETE = "incomplete"
"""Standing of what a limit, a signal or an error interrupted."""
FULL_PARAMETERS = "whole_parameters.json"
LONGEST_TAG_CHARACTERS = 500  # MLflow takes 8000; a column shows far less
LONGEST_PARAMETER_CHARACTERS = 500  # MLflow silently truncates at 6000; a column shows far less
STATUS = {
    TrialStatus.WAITING: RunStatus.SCHEDULED,
    TrialStatus.RUNNING: RunStatus.RUNNING,
    TrialStatus.FINISHED: RunStatus.FINISHED,
    TrialStatus.STOPPED: RunStatus.FINISHED,  # its standing says where; a red cross would say that it failed
    TrialStatus.DIVERGED: RunStatus.FAILED,
    TrialStatus.FAILED: RunStatus.FAILED,
}


def interruption(status: TrialStatus, snapshot: Snapshot) -> str | None:
    """Return the reason where a limit, a signal or an error interrupted a study, an arm or a trial; else None."""
    if status is not TrialStatus.RUNNING:
        return None
    if (limit := snapshot.stopped_by_limit) is not None:
        return cut(f"{limit}; the same command with a higher limit resumes it")
    how = snapshot.interruption
    return None if how is None else cut(f"{how}; the same command resumes it")


def arm_status(histories: Sequence[TrialHistory]) -> TrialStatus:
    """Return the status of an arm: open while a trial is, finished if one finished, else the most severe."""
    statuses = {history.status for history in histories} or {TrialStatus.WAITING}
    if statuses == {TrialStatus.WAITING}:
        return TrialStatus.WAITING
    if statuses & {TrialStatus.WAITING, TrialStatus.RUNNING}:
        return TrialStatus.RUNNING
    order = (TrialStatus.FINISHED, TrialStatus.FAILED, TrialStatus.DIVERGED, TrialStatus.STOPPED)
    return next(status for status in order if status in statuses)


def standing(histories: Sequence[TrialHistory]) -> str:
    """Return the status of an arm or a trial in words; of a stopped one, where its furthest trial was stopped."""
    status = arm_status(histories)
    if status is not TrialStatus.STOPPED:
        return status.value
    stops = [history for history in histories if history.stopped_by is not None]
    if not stops:
        return status.value
    furthest = max(stops, key=lambda history: len(history.decisions))
    ended = ", at the end of the budget" if furthest.stopped_at_end_of_budget else ""
    return f"stopped at hurdle {len(furthest.decisions)}{ended}"


def stop_reason(history: TrialHistory) -> str:
    """Return why a trial ended early, empty if it did not."""
    if history.status is TrialStatus.STOPPED and (decision := history.stopped_by):
        if history.stopped_at_end_of_budget:
            return f"end of the budget at hurdle {decision.level + 1}: {decision.value:.4g}"
        return f"hurdle {decision.level + 1}: {_against(decision.value, decision.threshold)}"
    for record in history.records:
        if history.status is TrialStatus.DIVERGED and record.status is Status.DIVERGED:
            return _reason("diverged", record)
        if history.status is TrialStatus.FAILED and record.status is Status.FAILED:
            return _reason("failed", record)
    return ""


def _against(value: float | None, threshold: float | None) -> str:
    """Return a value and its threshold, with enough digits to show which is larger."""
    digits = 4
    while (
        None not in (value, threshold) and value != threshold and f"{value:.{digits}g}" == f"{threshold:.{digits}g}"
    ):
        digits += 1
    shown = "no finite loss" if value is None else f"{value:.{digits}g}"
    return f"{shown} against {'no hurdle yet' if threshold is None else f'{threshold:.{digits}g}'}"


def _reason(outcome: str, record: Record) -> str:
    return cut(redacted(f"{outcome} in {record.label}: {_facts(record.result)}"))


def _facts(result: StageResult) -> str:
    if isinstance(result, DivergedPretraining):
        return f"tokens {result.tokens}, loss {result.loss}"
    if isinstance(result, DivergedFineTuning):
        return "" if result.loss is None else f"loss {result.loss}"
    return f"error {result.error}" if isinstance(result, FailedStage) else ""


def cut(text: str) -> str:
    """Return the text truncated to the width of a column."""
    return text if len(text) <= LONGEST_TAG_CHARACTERS else f"{text[: LONGEST_TAG_CHARACTERS - 1]}…"


def parameters_of(candidate: Candidate) -> tuple[dict[str, str], dict[str, str]]:
    """Return a candidate as `architecture.depth: 12`, …, and an artifact with the values that are cut to be readable.

    Defaults are included, so that any two runs can be compared.
    """
    parameters = dict(_flat((), candidate.model_dump(mode="json")))
    long = {key: value for key, value in parameters.items() if len(value) > LONGEST_PARAMETER_CHARACTERS}
    shown = {key: f"{long[key][: LONGEST_PARAMETER_CHARACTERS - 1]}…" for key in long}
    document = json.dumps(long, indent=2, sort_keys=True, ensure_ascii=False)
    return parameters | shown, {FULL_PARAMETERS: document} if long else {}


def _flat(path: tuple[str, ...], value: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _flat((*path, name), item)
    else:
        yield ".".join(path), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
