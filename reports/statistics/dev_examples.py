"""Differences of a task's score over seeds and dev examples, where the scores of single examples were kept."""

from analysis.difference import Difference
from analysis.effects import interval_of
from configuration.metrics import SCORE
from ledger.example_tables import ExampleTable
from ledger.task_standing import tasks_in_score
from reports.statistics.example_intervals import in_points, wider_over_examples
from reports.statistics.metrics import Metric
from reports.statistics.results import Results


def difference_over_examples(results: Results, arm: str, other: str, metric: Metric) -> Difference | None:
    """Return arm minus other on a task, or on a score that a single task makes; None where nothing was kept.

    The interval has the confidence level of the arms' look.
    """
    table = _scores(results, metric)
    found = None if table is None else wider_over_examples(in_points(table), arm, other, results.test)
    if found is None or not found.standard_error.item() > 0:
        return None
    n = results.difference(arm, other, metric).n
    return interval_of(found, n, max(map(results.confidence, (arm, other))))


def _scores(results: Results, metric: Metric) -> ExampleTable | None:
    """Return the scores of single examples whose mean a metric is."""
    tasks = tasks_in_score(results.tasks, results.standings) if metric.name == SCORE else (metric.name,)
    if len(tasks) != 1 or tasks[0] not in results.tasks:
        return None
    return results.example_tables.get(f"{tasks[0]}:{results.primary(tasks[0])}")
