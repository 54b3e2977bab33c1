"""What a run says in words: status and reason of trials and arms, and a candidate as flat parameters."""

import json
from collections.abc import Iterator, Sequence

from runners.tracking.connectivity import redacted
from runners.tracking.mirrored_run import RunStatus
from search_space.candidate import Candidate
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Record, Status, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import DivergedFineTuning, DivergedPretraining, FailedStage, StageResult
from steeplechase.ledger.trial_history import TrialHistory

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
