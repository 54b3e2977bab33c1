"""Reference points: what each task gives without pretraining, by chance and by counting words."""

from collections.abc import Iterable, Iterator

from configuration.metrics import PrimaryMetric
from foundation.schema import JsonValue
from ledger.json_values import number, numbers
from ledger.records import Record, Status
from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, fixed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.table import Row, Table, table

SCORE_DECIMALS = 1


def reference_table(shared: Iterable[Record], primary: PrimaryMetric) -> Table:
    """Return what can be had on each task without pretraining: by chance, and by counting words."""
    records = {
        str(record.result.get("task")): record
        for record in shared
        if record.stage == "examples" and record.status is Status.FINISHED
    }
    rows = (row for task in sorted(records) for row in _reference_rows(task, records[task], primary(task)))
    return table("reference", "task metric chance bag_of_words train_examples dev_examples", rows)


def _reference_rows(task: str, record: Record, primary: str) -> Iterator[Row]:
    chance = {primary: number(record.result.get("chance"))}
    words = numbers(record.result.get("bag_of_words"))
    for metric in sorted(chance.keys() | words.keys(), key=lambda metric: (metric != primary, metric)):
        yield {
            "task": task,
            "metric": metric,
            "chance": chance.get(metric),
            "bag_of_words": words.get(metric),
            "train_examples": _count(record.result.get("train")),
            "dev_examples": _count(record.result.get("dev")),
        }


def _count(part: JsonValue) -> JsonValue:
    return part.get("examples") if isinstance(part, dict) else None


def reference_grid(references: Table) -> Iterator[Grid]:
    """Yield the table as people read it, none where there are no tasks."""
    if not references.rows:
        return

    def cells(row: Row) -> list[str]:
        scores = (_score_text(row[name]) for name in ("chance", "bag_of_words"))
        counts = (_count_text(row[name]) for name in ("train_examples", "dev_examples"))
        return [str(row["task"]), str(row["metric"]), *scores, *counts]

    columns = [Column("task", numeric=False), Column("metric", numeric=False)]
    columns += [Column("chance"), Column("bag of words"), Column("train", "examples"), Column("dev", "examples")]
    title = "Reference points: chance and bag of words"
    yield grid(references.name, title, columns, map(cells, references.rows))


def _score_text(value: JsonValue) -> str:
    return fixed(value, SCORE_DECIMALS) if isinstance(value, int | float) else NOTHING


def _count_text(value: JsonValue) -> str:
    return str(value) if isinstance(value, int) else NOTHING


def _content(evidence: Evidence) -> Content:
    references = reference_table(evidence.results.snapshot.shared, evidence.results.primary)
    return Content((references,), tuple(reference_grid(references)))


SECTION = Section("reference", _content)
