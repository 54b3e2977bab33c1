"""Variance of each metric over pretraining and fine-tuning seeds, and the minimum detectable effect.

Tasks differ more than tenfold in the standard deviation over seeds (`richarddwang/electra_pytorch`: RTE 1.93, QQP
0.10), so that a task of low variance can detect effects that one of high variance cannot.
"""

from collections.abc import Iterator
from statistics import median

from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import NOTHING, decimals_for, fixed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.analysis.detectable import detectable_effect
from steeplechase.analysis.difference import ALPHA, MeanTest
from steeplechase.analysis.variance_components import Spread, spread_of
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE

LOW_SHARE = 0.5
"""Maximum ratio of a low-variance task's sd to the tasks' median sd."""


def noise_table(results: Results) -> Table:
    """Return the standard deviations of every metric, pooled over arms; `low_variance` is set for tasks only."""
    return table(
        "noise", "metric n sd_pretraining sd_fine_tuning sd_difference smallest_effect low_variance", _rows(results)
    )


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
    return frozenset(str(row["metric"]) for row in _rows(results) if row["low_variance"])


def _spread(results: Results, metric: Metric) -> Spread:
    return spread_of([by_metric[metric.name] for by_metric in results.nested.values() if metric.name in by_metric])


def _total(results: Results, metric: Metric) -> float | None:
    """Return the pooled standard deviation of one seed's value."""
    samples = [by_metric[metric.name] for by_metric in results.values.values() if metric.name in by_metric]
    return spread_of([{seed: (value,) for seed, value in sample.items()} for sample in samples]).pretraining


def noise_grid(results: Results, noise: Table) -> Iterator[Grid]:
    """Yield the standard deviations as a grid; none without tasks or with a single seed."""
    metrics = {metric.name for metric in results.shown}
    rows = [row for row in noise.rows if row["metric"] in metrics and row["smallest_effect"] is not None]
    if not any(row["metric"] != HELD_OUT_LOSS for row in rows):
        return

    def cells(row: Row) -> list[str]:
        numbers = [number(row[name]) for name in ("sd_pretraining", "sd_fine_tuning", "smallest_effect")]
        decimals = decimals_for(numbers, fallback=3)
        texts = [NOTHING if value is None else fixed(value, decimals) for value in numbers]
        texts = texts if results.experiment.pretrains else [texts[0], texts[2]]
        return [Metric(str(row["metric"])).title, *texts, "low variance" if row["low_variance"] else ""]

    seeds = ["pretraining", "fine-tuning"] if results.experiment.pretrains else ["fine-tuning"]
    columns = [Column("metric", numeric=False), *(Column(name, "sd over seeds") for name in seeds)]
    columns += [Column("min. detectable Δ"), Column("mark", numeric=False)]
    yield grid("noise", "Variance of each metric over seeds", columns, map(cells, rows))


def _content(evidence: Evidence) -> Content:
    noise = noise_table(evidence.results)
    note = "Minimum detectable Δ: by one uncorrected test at 5% with 80% power, for the sd pooled over all arms."
    grids = (with_notes(noise_of_metrics, [note]) for noise_of_metrics in noise_grid(evidence.results, noise))
    return Content((noise,), tuple(grids))


SECTION = Section("noise", _content)
