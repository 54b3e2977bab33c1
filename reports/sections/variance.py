"""Variance of each metric over pretraining and fine-tuning seeds, and the minimum detectable effect.

Tasks differ more than tenfold in the standard deviation over seeds (`richarddwang/electra_pytorch`: RTE 1.93, QQP
0.10), so that a task of low variance can detect effects that one of high variance cannot.
"""

from collections.abc import Callable, Iterator
from statistics import median

from reports.columns import METRIC, number_text
from reports.grid import Column, shown, words
from reports.number_format import decimals_for
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, number
from steeplechase.analysis.difference import ALPHA, MeanTest
from steeplechase.analysis.power import detectable_effect
from steeplechase.analysis.variance_components import Spread, spread_of
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE

SHOWN = ("sd_pretraining", "sd_fine_tuning", "smallest_effect")
KINDS_OF_SEEDS = ("pretraining", "fine-tuning")
NOTE = "Minimum detectable Δ: by one uncorrected test at 5% with 80% power, for the sd pooled over all arms."
LOW_SHARE = 0.5
"""Maximum ratio of a low-variance task's sd to the tasks' median sd."""


def _table(results: Results) -> Table:
    """Return the standard deviations of every metric, pooled over arms; `low_variance` is set for tasks only."""
    return Table.of("noise", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    spreads = {metric.name: _spread(results, metric) for metric in results.metrics}
    tasks = [metric for metric in results.metrics if metric.name not in (HELD_OUT_LOSS, SCORE) and not metric.further]
    task_sds = {metric.name: _total(results, metric) for metric in tasks}
    sizes = [sd for sd in task_sds.values() if sd is not None]
    for metric in results.metrics:
        total, own_sd = _total(results, metric), task_sds.get(metric.name)
        is_low = None if own_sd is None or len(sizes) < 2 else own_sd <= LOW_SHARE * median(sizes)
        seeds = max((results.effect(arm.name, metric).n for arm in results.arms), default=0)
        spread = spreads[metric.name]
        difference = None if total is None else total * 2**0.5
        yield {
            "metric": metric.name,
            "n": seeds,
            "sd_pretraining": spread.pretraining,
            "sd_fine_tuning": spread.fine_tuning,
            "sd_difference": difference,
            "smallest_effect": _smallest_effect(results, total, seeds),
            "low_variance": is_low,
        }


def _smallest_effect(results: Results, sd: float | None, seeds: int) -> float | None:
    """Return what one uncorrected test at 5% detects, for equal variances."""
    if sd is None or seeds < 2:
        return None
    degrees = (seeds - 1) * (1 if results.test is MeanTest.PAIRED else 2)
    detectable = detectable_effect(sd * (2 / seeds) ** 0.5, degrees, ALPHA)
    return None if detectable is None else detectable.value


def low_variance(results: Results) -> frozenset[str]:
    """Return the tasks of low variance."""
    return frozenset(str(row["metric"]) for row in results.once(_table).rows if row["low_variance"])


def _spread(results: Results, metric: Metric) -> Spread:
    return spread_of([by_metric[metric.name] for by_metric in results.nested.values() if metric.name in by_metric])


def _total(results: Results, metric: Metric) -> float | None:
    """Return the pooled standard deviation of one seed's value."""
    samples = [by_metric[metric.name] for by_metric in results.values.values() if metric.name in by_metric]
    return spread_of([{seed: (value,) for seed, value in sample.items()} for sample in samples]).pretraining


def _columns(results: Results) -> list[Column]:
    """Return what is shown of a metric, all its numbers with the decimals of their own sizes."""

    def read(name: str) -> Callable[[Row], str]:
        return lambda row: number_text(row[name], decimals_for([number(row[each]) for each in SHOWN], fallback=3))

    seeds = [Column("fine-tuning", "sd over seeds", read=read("sd_pretraining"))]
    if results.experiment.pretrains:
        seeds = [Column(name, "sd over seeds", read=read(f"sd_{name.replace('-', '_')}")) for name in KINDS_OF_SEEDS]
    smallest = Column("min. detectable Δ", read=read("smallest_effect"))
    return [METRIC, *seeds, smallest, words("mark", lambda row: "low variance" if row["low_variance"] else "")]


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    noise = results.once(_table)
    metrics = {metric.name for metric in results.shown}
    rows = [row for row in noise.rows if row["metric"] in metrics and row["smallest_effect"] is not None]
    tasks = any(row["metric"] != HELD_OUT_LOSS for row in rows)
    title = "Variance of each metric over seeds"
    return Content((noise,), shown("noise", title, _columns(results), rows if tasks else (), [NOTE]))


SECTION = Section("noise", _content)
