"""Truncation: the share of a task's inputs cut to the sequence length, and the answers cut off with them.

Read from the records of the stages that encode a task's examples. SQuAD's contexts are not truncated: they are read
in windows, and `squad.py` has its lost answers beside its files.
"""

from collections.abc import Iterable, Iterator

from foundation.schema import JsonValue
from ledger.json_values import number
from ledger.records import Record, Status
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.table import Row, Table, table

TRUNCATION = "truncation"
TERM = "Truncated inputs"
STAGE = "examples"
SPLITS = ("train", "dev", "test")
NOTED = ("dev", "train")
"""The splits of the note, which says first what scores were measured on."""


def truncation_table(shared: Iterable[Record]) -> Table:
    """Return one row per task and split: examples, the share of them that was cut, and the answers lost."""
    return table(TRUNCATION, "task split examples truncated_share answers_lost", _rows(shared))


def _rows(shared: Iterable[Record]) -> Iterator[Row]:
    encoded = [one for one in shared if one.stage == STAGE and one.status is Status.FINISHED]
    for record in sorted(encoded, key=lambda one: str(one.result.get("task"))):
        for split in SPLITS:
            figures = record.result.get(split)
            if isinstance(figures, dict) and ("truncated_share" in figures or "answers_lost" in figures):
                yield _row(str(record.result["task"]), split, figures)


def _row(task: str, split: str, figures: dict[str, JsonValue]) -> Row:
    return {
        "task": task,
        "split": split,
        "examples": figures.get("examples"),
        "truncated_share": number(figures.get("truncated_share")),
        "answers_lost": figures.get("answers_lost"),
    }


def truncation_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield the line of the conditions; none where every input was whole."""
    rows = [row for row in _rows(shared) if row["split"] in NOTED and number(row["truncated_share"])]
    tasks = dict.fromkeys(str(row["task"]) for row in rows)
    shares = [f"{task} {_parts([row for row in rows if row['task'] == task])}" for task in tasks]
    if shares:
        lost = any(row["answers_lost"] for row in rows)
        end = " An answer that was cut off can be found by no model" if lost else ""
        yield TERM, f"cut to the sequence length, {'; '.join(shares)}.{end}".rstrip(".")


def _parts(rows: list[Row]) -> str:
    ordered = sorted(rows, key=lambda row: NOTED.index(str(row["split"])))
    return " and ".join(map(_part, ordered))


def _part(row: Row) -> str:
    share, lost = number(row["truncated_share"]) or 0.0, row["answers_lost"]
    answers = f" ({lost} answers cut off)" if lost else ""
    return f"{100 * share:.1f}% of {row['examples']} {row['split']} inputs{answers}"


def _content(evidence: Evidence) -> Content:
    return Content(with_rows(truncation_table(evidence.results.snapshot.shared)))


SECTION = Section("truncation", _content)
