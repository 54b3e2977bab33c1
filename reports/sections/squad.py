"""What SQuAD's scores rest on: which files, how many of their questions, and where the threshold was chosen."""

from collections.abc import Iterator

from configuration.stage_label import FINE_TUNE, StageLabel
from foundation.schema import JsonValue
from ledger.records import Status
from ledger.snapshot import Snapshot

SQUAD = "squad_"
"""How the names of SQuAD's tasks begin."""


def squad_notes(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield (task, what its scores rest on) for every SQuAD task whose examples have been made."""
    for record in snapshot.shared:
        task = StageLabel.parse(record.label).task or ""
        if record.stage == "examples" and task.startswith(SQUAD) and record.status is Status.FINISHED:
            learned, asked = _part(record.result.get("train")), _part(record.result.get("dev"))
            yield task, f"learned from {learned}; asked {asked}{_threshold(snapshot, task)}"


def _part(figures: JsonValue) -> str:
    split = figures if isinstance(figures, dict) else {}
    count, of = split.get("examples"), split.get("of")
    some = f"all {count}" if count == of else f"{count} of {of}"
    cut = "" if split.get("official_name") else ", not the official file"
    lost = f", {split['answers_lost']} without a whole answer in a window" if split.get("answers_lost") else ""
    return f"{some} questions of {split.get('file')}{cut}{lost}"


def _threshold(snapshot: Snapshot, task: str) -> str:
    """Return which thresholds of "no answer" the trials have chosen, on what; nothing where there is none."""
    records = [record for history in snapshot.histories for record in history.finished(FINE_TUNE)]
    mine = [record.result for record in records if record.result.get("task") == task]
    values = sorted(value for each in mine if isinstance(value := each.get("null_threshold"), float))
    if not values:
        return ""
    first = mine[0]
    span = f"{values[0]:.2f}" if values[0] == values[-1] else f"{values[0]:.2f} to {values[-1]:.2f}"
    questions, without = first["threshold_questions"], first["threshold_unanswerable"]
    chosen_on = f"{questions} held-out train questions, {without} of them without an answer"
    return f"; threshold of no answer {span}, the best for F1 on {chosen_on}; never chosen on dev"
