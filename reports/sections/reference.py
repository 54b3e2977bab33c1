"""Reference scores of each task without pretraining: chance, and a bag-of-words classifier."""

from collections.abc import Iterator
from statistics import fmean, stdev

from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, UNKNOWN, fixed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.table import Row, Table, number, table
from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import ExamplesResult, finite
from steeplechase.ledger.task_references import untrained_scores

SCORE_DECIMALS = 1
COLUMNS = ("task", "metric", "chance", "bag_of_words", "train_examples", "dev_examples")
FURTHER = ("round_trip", "ngram", "untrained", "untrained_sd", "untrained_n")
SHOWN_FURTHER = {
    "round_trip": "targets through the tokenizer",
    "ngram": "n-gram",
    "untrained": "untrained, mean ± sd (n)",
}


def reference_table(snapshot: Snapshot, primary: PrimaryMetric) -> Table:
    """Return each task's reference scores.

    They are chance, a bag-of-words classifier, an n-gram model, untrained encoders, and the target texts encoded and
    decoded.

    Columns of references that no task has are left out.
    """
    examples = {result.task: result for _, result in with_results(snapshot.shared, ExamplesResult)}
    rows = [row for task in sorted(examples) for row in _reference_rows(snapshot, examples[task], primary(task))]
    further = [name for name in FURTHER if any(row[name] is not None for row in rows)]
    columns = [*COLUMNS[:4], *further, *COLUMNS[4:]]
    return table("reference", " ".join(columns), ({name: row[name] for name in columns} for row in rows))


def _reference_rows(snapshot: Snapshot, examples: ExamplesResult, primary: str) -> Iterator[Row]:
    chance = {primary: finite(examples.chance)}
    words, ngram, round_trip = (
        {metric: finite(value) for metric, value in (scores or {}).items()}
        for scores in (examples.bag_of_words, examples.ngram, examples.round_trip)
    )
    metrics = chance.keys() | words.keys() | ngram.keys() | round_trip.keys()
    for metric in sorted(metrics, key=lambda metric: (metric != primary, metric)):
        untrained = untrained_scores(snapshot.shared, examples.task, metric)
        yield {
            "task": examples.task,
            "metric": metric,
            "chance": chance.get(metric),
            "bag_of_words": words.get(metric),
            "round_trip": round_trip.get(metric),
            "ngram": ngram.get(metric),
            "untrained": fmean(untrained) if untrained else None,
            "untrained_sd": stdev(untrained) if len(untrained) > 1 else None,
            "untrained_n": len(untrained) or None,
            "train_examples": examples.train.examples,
            "dev_examples": examples.dev.examples,
        }


def reference_grid(references: Table) -> Iterator[Grid]:
    """Yield the table as a grid; none without tasks."""
    if not references.rows:
        return
    further = {name: title for name, title in SHOWN_FURTHER.items() if name in references.columns}

    def cells(row: Row) -> list[str]:
        scores = [_score_text(row[name]) for name in ("chance", "bag_of_words")]
        scores += [_untrained_text(row) if name == "untrained" else _score_text(row[name]) for name in further]
        counts = (_count_text(row[name]) for name in ("train_examples", "dev_examples"))
        return [str(row["task"]), str(row["metric"]), *scores, *counts]

    columns = [Column("task", numeric=False), Column("metric", numeric=False)]
    columns += [Column("chance"), Column("bag of words"), *map(Column, further.values())]
    columns += [Column("train", "examples"), Column("dev", "examples")]
    references_named = "chance and bag of words" if not further else "chance, models without pretraining"
    title = f"Reference scores without pretraining: {references_named}"
    yield grid(references.name, title, columns, map(cells, references.rows))


def _untrained_text(row: Row) -> str:
    mean, sd = number(row["untrained"]), number(row.get("untrained_sd"))  # no column with one seed
    if mean is None:
        return NOTHING
    spread = UNKNOWN if sd is None else fixed(sd, SCORE_DECIMALS)
    return f"{fixed(mean, SCORE_DECIMALS)} ± {spread} ({row['untrained_n']})"


def _score_text(value: JsonValue) -> str:
    return fixed(value, SCORE_DECIMALS) if isinstance(value, int | float) else NOTHING


def _count_text(value: JsonValue) -> str:
    return str(value) if isinstance(value, int) else NOTHING


def _content(evidence: Evidence) -> Content:
    references = reference_table(evidence.results.snapshot, evidence.results.primary)
    return Content((references,), tuple(reference_grid(references)))


SECTION = Section("reference", _content)
