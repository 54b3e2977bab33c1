"""What SQuAD's scores rest on: which files, how many of their questions, and where the threshold was chosen."""

from collections.abc import Iterator

from configuration.stage_label import FINE_TUNE
from ledger.records import with_results
from ledger.snapshot import Snapshot
from ledger.stage_results import ExamplesResult, FineTuneResult, SquadPart


def squad_notes(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield (task, what its scores rest on) for every SQuAD task whose examples have been made."""
    for _, result in with_results(snapshot.shared, ExamplesResult):
        if isinstance(result.train, SquadPart) and isinstance(result.dev, SquadPart):
            told = f"learned from {_part(result.train)}; asked {_part(result.dev)}"
            yield result.task, f"{told}{_threshold(snapshot, result.task)}"


def _part(part: SquadPart) -> str:
    some = f"all {part.examples}" if part.examples == part.of else f"{part.examples} of {part.of}"
    cut = "" if part.official_name else ", not the official file"
    lost = f", {part.answers_lost} without a whole answer in a window" if part.answers_lost else ""
    return f"{some} questions of {part.file}{cut}{lost}"


def _threshold(snapshot: Snapshot, task: str) -> str:
    """Return which thresholds of "no answer" the trials have chosen, on what; nothing where there is none."""
    records = [record for history in snapshot.histories for record in history.finished(FINE_TUNE)]
    mine = [result for _, result in with_results(records, FineTuneResult) if result.task == task]
    values = sorted(each.null_threshold for each in mine if each.null_threshold is not None)
    if not values:
        return ""
    first = mine[0]
    span = f"{values[0]:.2f}" if values[0] == values[-1] else f"{values[0]:.2f} to {values[-1]:.2f}"
    questions, without = first.threshold_questions, first.threshold_unanswerable
    chosen_on = f"{questions} held-out train questions, {without} of them without an answer"
    return f"; threshold of no answer {span}, the best for F1 on {chosen_on}; never chosen on dev"
