"""Conditions of SQuAD scores: files, number of questions, and the data on which the threshold was selected."""

from collections.abc import Iterator

from configuration.stage_label import FINE_TUNE
from ledger.records import with_results
from ledger.snapshot import Snapshot
from ledger.stage_results import ExamplesResult, FineTuneResult, SquadPart


def squad_notes(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield (task, conditions of its scores) for every SQuAD task whose examples exist."""
    for _, result in with_results(snapshot.shared, ExamplesResult):
        if isinstance(result.train, SquadPart) and isinstance(result.dev, SquadPart):
            data = f"trained on {_part(result.train)}; evaluated on {_part(result.dev)}"
            yield result.task, f"{data}{_threshold(snapshot, result.task)}"


def _part(part: SquadPart) -> str:
    count = f"all {part.examples}" if part.examples == part.of else f"{part.examples} of {part.of}"
    unofficial = "" if part.official_name else ", not the official file"
    answers_lost = f", {part.answers_lost} without a complete answer in any window" if part.answers_lost else ""
    return f"{count} questions of {part.file}{unofficial}{answers_lost}"


def _threshold(snapshot: Snapshot, task: str) -> str:
    """Return the no-answer thresholds of the trials and the data they were selected on; empty without one."""
    records = [record for history in snapshot.histories for record in history.finished(FINE_TUNE)]
    results = [result for _, result in with_results(records, FineTuneResult) if result.task == task]
    values = sorted(result.null_threshold for result in results if result.null_threshold is not None)
    if not values:
        return ""
    first_result = results[0]
    thresholds = f"{values[0]:.2f}" if values[0] == values[-1] else f"{values[0]:.2f} to {values[-1]:.2f}"
    questions, unanswerable = first_result.threshold_questions, first_result.threshold_unanswerable
    chosen_on = f"{questions} held-out train questions, {unanswerable} of them without an answer"
    return f"; no-answer threshold {thresholds}, the best F1 on {chosen_on}; not selected on dev"
