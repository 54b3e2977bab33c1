"""Measured values in long form: one row per arm, pretraining seed, task and metric, for other programs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from reports.statistics.results import Results
from reports.table import Row, Table, table
from steeplechase.foundation.schema import JsonValue

COLUMNS = "arm seed task metric value"


def trial_values(results: Sequence[Results], *further: Iterable[Row]) -> Table:
    """Return one row per arm, pretraining seed and metric: the mean over the seed's fine-tuning seeds.

    Of a search and its final comparison, a trial of both has the rows of the first. Tuned arms that were trained at
    their own recipes follow under the names of these trials, `ARM@own`.

    `task` is empty for the held-out loss (nats per token), the score and descriptive measurements. Arms are in the
    order of the results table, then metrics, then seeds. A trial without a value on a metric has no row of it.
    `further` rows are of values outside trials.
    """
    found: dict[tuple[JsonValue, ...], Row] = {}
    for row in chain(*map(_rows, results), *map(_own_rows, results), *further):
        found.setdefault((row["arm"], row["seed"], row["task"], row["metric"]), row)
    return table("trials", COLUMNS, iter(found.values()))


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        by_metric = results.measured_values.get(arm.name, {})
        for metric in (*results.metrics, *results.descriptions):
            task, name = _task_and_metric(results, metric.name)
            for seed, value in sorted(by_metric.get(metric.name, {}).items()):
                yield {"arm": arm.name, "seed": seed, "task": task, "metric": name, "value": value}


def _own_rows(results: Results) -> Iterator[Row]:
    """Yield the rows of arms at their own recipes, by the names of their trials; none without tuning."""
    own, tuning = results.own_recipes, results.snapshot.tuning
    if own is not None and tuning is not None:
        names = {choice.arm: choice.own for choice in tuning.choices}
        yield from ({**row, "arm": names[str(row["arm"])]} for row in _rows(own))


def _task_and_metric(results: Results, name: str) -> tuple[str, str]:
    task, _, further = name.partition(":")
    if task in results.tasks:
        return task, further or results.primary(task)
    return (task, further) if further else ("", name)
