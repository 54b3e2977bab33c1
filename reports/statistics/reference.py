"""Tests of scores against chance; without a score above chance no difference is claimed.

A comparison in which neither arm exceeds a known reference lacks assay sensitivity (ICH E10, 2000, section 1.5). The
test is a one-sample t of the seeds against chance, one-sided at 5%, with Holm's correction over the arms.
"""

from collections.abc import Iterable
from statistics import fmean, stdev

from analysis.distributions import t_upper
from analysis.paired import ALPHA, holm, vary
from configuration.metrics import SCORE
from ledger.records import with_results
from ledger.stage_results import ExamplesResult, finite
from reports.statistics.metrics import Metric
from reports.statistics.results import Results


def chance_of(results: Results, metric: Metric) -> float | None:
    """Return the chance level of a task (the majority class in classification), or its mean over tasks for the score.

    None for the held-out loss, and if a task has no known chance level.
    """
    examples = with_results(results.snapshot.shared, ExamplesResult)
    chance_by_task = {result.task: finite(result.chance) for _, result in examples}
    tasks = results.tasks if metric.name == SCORE else (metric.name,)
    chance_levels = [chance_level for task in tasks if (chance_level := chance_by_task.get(task)) is not None]
    return fmean(chance_levels) if chance_levels and len(chance_levels) == len(tasks) else None


def above_chance(results: Results, metric: Metric) -> frozenset[str] | None:
    """Return the arms that exceed chance significantly; None if chance is not known."""
    chance = chance_of(results, metric)
    if chance is None:
        return None
    names = [arm.name for arm in results.arms]
    samples = [[*results.values.get(name, {}).get(metric.name, {}).values()] for name in names]
    adjusted = holm([exceeds_p(sample, chance) for sample in samples])
    return frozenset(name for name, p in zip(names, adjusted, strict=True) if p is not None and p <= ALPHA)


def is_finding(results: Results, metric: Metric, arms: Iterable[str]) -> bool:
    """Whether a difference between the arms may be claimed: one of them exceeds chance, or chance is unknown."""
    above = above_chance(results, metric)
    return above is None or not above.isdisjoint(arms)


def exceeds_p(values: list[float], reference: float) -> float | None:
    """Return the one-sided p of the one-sample t test against a reference; None without a standard deviation."""
    n = len(values)
    if n < 2 or not vary(values):
        return None
    return float(t_upper((fmean(values) - reference) / (stdev(values) / n**0.5), n - 1))
