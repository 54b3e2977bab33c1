"""Conditions of SQuAD scores: files, number of questions, and the data on which the threshold was selected."""

from collections.abc import Iterable, Iterator

from reports.section import Section
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import ExamplesResult, FineTuneResult, SquadPart
from steeplechase.ledger.trial_history import chosen_records


def squad_notes(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield (task, conditions of its scores) for every SQuAD task whose examples exist."""
    for _, result in with_results(snapshot.shared, ExamplesResult):
        if isinstance(result.train, SquadPart) and isinstance(result.dev, SquadPart):
            data = f"trained on {_part(result.train)}; evaluated on {_part(result.dev)}"
            yield result.task, f"{data}{_threshold(snapshot, result.task)}"


def _part(part: SquadPart) -> str:
    count = f"all {part.examples}" if part.examples == part.of else f"{part.examples} of {part.of}"
    unofficial = "" if part.official_name else ", not the official file"
    absent = f", {part.answers_misplaced_in_file} answers not in their contexts" * bool(
        part.answers_misplaced_in_file
    )
    moved = f", {part.answers_moved_in_file} answers found near their start" * bool(part.answers_moved_in_file)
    answers_lost = f", {part.answers_lost} without a complete answer in any window" if part.answers_lost else ""
    return f"{count} questions of {part.file}{unofficial}{absent}{moved}{answers_lost}"


def absent_answers_clause(shared: Iterable[Record]) -> str:
    """Return the numbers of answers that do not stand in their contexts; empty without one."""
    found = [
        f"{part.answers_misplaced_in_file} answers of {part.file} do not stand in their contexts"
        for _, result in with_results(shared, ExamplesResult)
        for part in (result.train, result.dev)
        if isinstance(part, SquadPart) and part.answers_misplaced_in_file
    ]
    return "; ".join(dict.fromkeys(found))


def answer_lines(shared: Iterable[Record]) -> Iterator[str]:
    """Yield one line per task whose answers are absent, moved or cut off in any of its parts."""
    for _, result in with_results(shared, ExamplesResult):
        parts = []
        for name, part in result.parts.items():
            absent, moved = (
                (part.answers_misplaced_in_file, part.answers_moved_in_file)
                if isinstance(part, SquadPart)
                else (0, 0)
            )
            said = [f"{absent} answers do not stand in their contexts"] * bool(absent)
            said += [f"{moved} answers were found near their start"] * bool(moved)
            said += [f"{part.answers_lost} answers are cut off"] * bool(part.answers_lost)
            parts += [f"{name}, {part.examples:,} examples: {', '.join(said)}"] * bool(said)
        if parts:
            yield f"{result.task}, {'; '.join(parts)}"


def _threshold(snapshot: Snapshot, task: str) -> str:
    """Return the no-answer thresholds of the trials and the data they were selected on; empty without one."""
    histories = snapshot.histories
    records = [record for history in histories for record in chosen_records(history.records, snapshot.labels)]
    results = [result for _, result in with_results(records, FineTuneResult) if result.task == task]
    values = sorted(result.null_threshold for result in results if result.null_threshold is not None)
    if not values:
        return ""
    first_result = results[0]
    thresholds = f"{values[0]:.2f}" if values[0] == values[-1] else f"{values[0]:.2f} to {values[-1]:.2f}"
    questions, unanswerable = first_result.threshold_questions, first_result.threshold_unanswerable
    chosen_on = f"{questions} held-out train questions, {unanswerable} of them without an answer"
    return f"; no-answer threshold {thresholds}, the best F1 on {chosen_on}; not selected on dev"


SECTION = Section(
    "squad",
    clauses=lambda results: [absent_answers_clause(results.snapshot.shared)],
    conditions=lambda results: squad_notes(results.snapshot),
)
