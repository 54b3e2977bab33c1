"""Reference scores of each task without pretraining: chance, and a bag-of-words classifier."""

from collections.abc import Iterable, Iterator

from configuration.metrics import PrimaryMetric
from foundation.schema import JsonValue
from ledger.records import Record, with_results
from ledger.stage_results import ExamplesResult, finite
from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, fixed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.table import Row, Table, table

SCORE_DECIMALS = 1


def reference_table(shared: Iterable[Record], primary: PrimaryMetric) -> Table:
    """Return each task's reference scores: chance, and a bag-of-words classifier."""
    examples = {result.task: result for _, result in with_results(shared, ExamplesResult)}
    rows = (row for task in sorted(examples) for row in _reference_rows(examples[task], primary(task)))
    return table("reference", "task metric chance bag_of_words train_examples dev_examples", rows)


def _reference_rows(examples: ExamplesResult, primary: str) -> Iterator[Row]:
    chance = {primary: finite(examples.chance)}
    bag_of_words = {metric: finite(value) for metric, value in (examples.bag_of_words or {}).items()}
    for metric in sorted(chance.keys() | bag_of_words.keys(), key=lambda metric: (metric != primary, metric)):
        yield {
            "task": examples.task,
            "metric": metric,
            "chance": chance.get(metric),
            "bag_of_words": bag_of_words.get(metric),
            "train_examples": examples.train.examples,
            "dev_examples": examples.dev.examples,
        }


def reference_grid(references: Table) -> Iterator[Grid]:
    """Yield the table as a grid; none without tasks."""
    if not references.rows:
        return

    def cells(row: Row) -> list[str]:
        scores = (_score_text(row[name]) for name in ("chance", "bag_of_words"))
        counts = (_count_text(row[name]) for name in ("train_examples", "dev_examples"))
        return [str(row["task"]), str(row["metric"]), *scores, *counts]

    columns = [Column("task", numeric=False), Column("metric", numeric=False)]
    columns += [Column("chance"), Column("bag of words"), Column("train", "examples"), Column("dev", "examples")]
    title = "Reference scores without pretraining: chance and bag of words"
    yield grid(references.name, title, columns, map(cells, references.rows))


def _score_text(value: JsonValue) -> str:
    return fixed(value, SCORE_DECIMALS) if isinstance(value, int | float) else NOTHING


def _count_text(value: JsonValue) -> str:
    return str(value) if isinstance(value, int) else NOTHING


def _content(evidence: Evidence) -> Content:
    references = reference_table(evidence.results.snapshot.shared, evidence.results.primary)
    return Content((references,), tuple(reference_grid(references)))


SECTION = Section("reference", _content)
