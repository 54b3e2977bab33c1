"""Truncation: the share of a task's inputs cut to the sequence length, and the number of answers lost by it.

From the records of the stages that encode a task's examples. SQuAD's contexts are split into windows instead of
truncated; `squad.py` reports its lost answers.
"""

from collections.abc import Iterable, Iterator

from reports.section import Content, Section
from reports.table import Row, Table, number
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import EncodedPart, ExamplesResult, finite

TRUNCATION = "truncation"
TERM = "Truncated inputs"
SPLITS = ("train", "dev", "test")
NOTED = ("dev", "train")
"""The splits in the note; the one that scores are measured on comes first."""


def truncation_table(shared: Iterable[Record]) -> Table:
    """Return one row per task and split: examples, the truncated share of them, and the answers lost."""
    return Table.of(TRUNCATION, _rows(shared))


def _rows(shared: Iterable[Record]) -> Iterator[Row]:
    encoded = [result for _, result in with_results(shared, ExamplesResult)]
    for result in sorted(encoded, key=lambda result: result.task):
        for split in SPLITS:
            part = result.parts.get(split)
            share = part.truncated_share if isinstance(part, EncodedPart) else None
            if part is not None and (share is not None or part.answers_lost is not None):
                yield {
                    "task": result.task,
                    "split": split,
                    "examples": part.examples,
                    "truncated_share": finite(share),
                    "answers_lost": part.answers_lost,
                }


def truncation_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield the condition on truncation; none without a truncated input."""
    rows = [row for row in _rows(shared) if row["split"] in NOTED and number(row["truncated_share"])]
    tasks = dict.fromkeys(str(row["task"]) for row in rows)
    shares = [f"{task} {_parts([row for row in rows if row['task'] == task])}" for task in tasks]
    if shares:
        has_lost_answers = any(row["answers_lost"] for row in rows)
        remark = " No model can give an answer that was cut off" if has_lost_answers else ""
        yield TERM, f"truncated to the sequence length: {'; '.join(shares)}.{remark}".rstrip(".")


def _parts(rows: list[Row]) -> str:
    return " and ".join(map(_part, sorted(rows, key=lambda row: NOTED.index(str(row["split"])))))


def _part(row: Row) -> str:
    share, answers_lost = number(row["truncated_share"]) or 0.0, row["answers_lost"]
    answers = f" ({answers_lost} answers cut off)" if answers_lost else ""
    return f"{100 * share:.1f}% of {row['examples']} {row['split']} inputs{answers}"


SECTION = Section(
    TRUNCATION,
    lambda results: Content(truncation_table(results.snapshot.shared).filled),
    conditions=lambda results: truncation_notes(results.snapshot.shared),
)
