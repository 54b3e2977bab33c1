"""Tables as data: what every format prints comes from these rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from analysis.effects import Difference
from configuration.metrics import PrimaryMetric
from foundation.schema import JsonValue
from ledger.records import ArmRow, Record, with_results
from ledger.stage_results import ExamplesResult, finite
from reports.results import Results
from reports.sections.trial_status import status_of
from reports.statistics.metrics import Metric

Row = Mapping[str, JsonValue]
RESULT_COLUMNS = ("arm", "metric", "n", "mean", "sd", "delta", "low", "high", "parameters", "train_flops", "status")
MATCHED_COLUMNS = ("matched_arm", "matched_spend", "matched_n", "matched_delta", "matched_low", "matched_high")


@dataclass(frozen=True)
class Table:
    """Named rows that all have the same columns."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def table(name: str, columns: str, rows: Iterable[Row]) -> Table:
    """Return a table after checking that its rows have the columns they promise, in that order."""
    named, filled = tuple(columns.split()), tuple(rows)
    assert all(tuple(row) == named for row in filled), f"{name}: a row differs from {named}"
    return Table(name, named, filled)


def results_table(results: Results) -> Table:
    """Return one row per arm and metric: the baseline first, metrics by name whatever the order of the file.

    Where arms have twins of the baseline's budget, the twin's difference stands beside the arm's own.
    """
    columns = (*RESULT_COLUMNS, *MATCHED_COLUMNS) if results.matched_arms else RESULT_COLUMNS
    return table("results", " ".join(columns), _result_rows(results))


def _result_rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        status = status_of(results.trials[arm.name], results.seeds_in_all)
        for metric in results.metrics:
            effect = results.effect(arm.name, metric)
            yield {
                "arm": arm.name,
                "metric": metric.name,
                "n": effect.n,
                "mean": effect.mean,
                "sd": effect.sd,
                **interval(effect.difference),
                "parameters": arm.parameters,
                "train_flops": arm.train_flops,
                "status": status,
                **(_matched(results, arm, metric) if results.matched_arms else {}),
            }


def _matched(results: Results, arm: ArmRow, metric: Metric) -> Row:
    difference = results.matched(arm.name, metric)
    values = (
        results.matched_arms.get(arm.name),
        arm.matched_spend,
        difference.pairs if arm.name in results.matched_arms else None,
    )
    return dict(zip(MATCHED_COLUMNS, (*values, difference.delta, difference.low, difference.high), strict=True))


def interval(difference: Difference) -> dict[str, JsonValue]:
    """Return a difference as the columns delta, low and high."""
    return {"delta": difference.delta, "low": difference.low, "high": difference.high}


def reference_table(shared: Iterable[Record], primary: PrimaryMetric) -> Table:
    """Return what can be had on each task without pretraining: by chance, and by counting words."""
    made = {result.task: result for _, result in with_results(shared, ExamplesResult)}
    rows = (row for task in sorted(made) for row in _reference_rows(made[task], primary(task)))
    return table("reference", "task metric chance bag_of_words train_examples dev_examples", rows)


def _reference_rows(made: ExamplesResult, primary: str) -> Iterator[Row]:
    chance = {primary: finite(made.chance)}
    words = {metric: finite(value) for metric, value in (made.bag_of_words or {}).items()}
    for metric in sorted(chance.keys() | words.keys(), key=lambda metric: (metric != primary, metric)):
        yield {
            "task": made.task,
            "metric": metric,
            "chance": chance.get(metric),
            "bag_of_words": words.get(metric),
            "train_examples": made.train.examples,
            "dev_examples": made.dev.examples,
        }


def number(cell: JsonValue) -> float | None:
    """Return a cell of a table as a finite number, None where it is something else."""
    return finite(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None
