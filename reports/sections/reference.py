"""Reference scores of each task without pretraining: chance, a bag-of-words classifier, rules of spans."""

from collections.abc import Iterator
from statistics import fmean, stdev

from reports.section import Content, Section, decimal, spread_text
from reports.statistics.results import Results
from reports.table import Column, Grid, Row, Table, number, shown, words
from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.ledger.records import with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import ExamplesResult, finite
from steeplechase.ledger.task_references import untrained_scores
from steeplechase.tasks.references import RULES

COLUMNS = ("task", "metric", "chance", "bag_of_words", "train_examples", "dev_examples")
FURTHER = ("round_trip", "ngram", *RULES, "untrained", "untrained_sd", "untrained_n")


def _untrained(row: Row) -> str:
    sd = number(row.get("untrained_sd"))  # no column with one seed
    return spread_text(number(row["untrained"]), sd, row["untrained_n"], 1)


SHOWN_FURTHER = {
    "round_trip": Column("targets through the tokenizer", read=decimal("round_trip", 1)),
    "ngram": Column("n-gram", read=decimal("ngram", 1)),
    **{rule: Column(title, read=decimal(rule, 1)) for rule, title in RULES.items()},
    "untrained": Column("untrained, mean ± sd (n)", read=_untrained),
}


def reference_table(snapshot: Snapshot, primary: PrimaryMetric) -> Table:
    """Return each task's reference scores.

    They are chance, a bag-of-words classifier, an n-gram model, rules that answer extractive questions, untrained
    encoders, and the target texts encoded and decoded. Columns of references that no task has are left out.
    """
    examples = {result.task: result for _, result in with_results(snapshot.shared, ExamplesResult)}
    rows = [row for task in sorted(examples) for row in _rows(snapshot, examples[task], primary(task))]
    further = [name for name in FURTHER if any(row[name] is not None for row in rows)]
    columns = [*COLUMNS[:4], *further, *COLUMNS[4:]]
    return Table.of("reference", ({name: row[name] for name in columns} for row in rows))


def _rows(snapshot: Snapshot, examples: ExamplesResult, primary: str) -> Iterator[Row]:
    chance = {primary: finite(examples.chance)}
    bag_of_words, ngram, round_trip = (
        {metric: finite(value) for metric, value in (scores or {}).items()}
        for scores in (examples.bag_of_words, examples.ngram, examples.round_trip)
    )
    rules = {rule: (examples.extractive or {}).get(rule, {}) for rule in RULES}
    metrics = set().union(*rules.values()) | chance.keys() | bag_of_words.keys() | ngram.keys() | round_trip.keys()
    for metric in sorted(metrics, key=lambda metric: (metric != primary, metric)):
        untrained = untrained_scores(snapshot.shared, examples.task, metric)
        yield {
            "task": examples.task,
            "metric": metric,
            "chance": chance.get(metric),
            "bag_of_words": bag_of_words.get(metric),
            "round_trip": round_trip.get(metric),
            "ngram": ngram.get(metric),
            **{rule: finite(scores.get(metric)) for rule, scores in rules.items()},
            "untrained": fmean(untrained) if untrained else None,
            "untrained_sd": stdev(untrained) if len(untrained) > 1 else None,
            "untrained_n": len(untrained) or None,
            "train_examples": examples.train.examples,
            "dev_examples": examples.dev.examples,
        }


def reference_grid(references: Table) -> tuple[Grid, ...]:
    """Return the table as a grid; none without tasks."""
    further = [column for name, column in SHOWN_FURTHER.items() if name in references.columns]
    columns = [
        *(words("task"), words("metric"), Column("chance", read=decimal("chance", 1))),
        *(Column("bag of words", read=decimal("bag_of_words", 1)), *further),
        *(Column(name, "examples", read=decimal(f"{name}_examples", 0)) for name in ("train", "dev")),
    ]
    named = "chance and bag of words" if not further else "chance, models without pretraining"
    title = f"Reference scores without pretraining: {named}"
    return shown(references.name, title, columns, references.rows)


def _below_reference(results: Results) -> Iterator[str]:
    """Yield the tasks on which no difference is claimed."""
    if below := results.below_reference:
        reason = "because the mean over all arms does not significantly exceed every reference"
        tasks = len(results.tasks)
        in_score = "" if tasks == 1 else f" (not in the score: {len(below)} of {tasks} tasks)"
        yield f"on {', '.join(below)} no difference is claimed, {reason}{in_score}"


def _content(results: Results) -> Content:
    references = reference_table(results.snapshot, results.primary)
    return Content((references,), reference_grid(references))


SECTION = Section("reference", _content, clauses=_below_reference)
