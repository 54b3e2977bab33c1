"""How noisy each metric is: its spread over pretraining and over fine-tuning seeds, and the detectable difference.

Tasks differ by more than ten in the spread over seeds (`richarddwang/electra_pytorch`: RTE 1.93, QQP 0.10), so a
task of low variance shows what one of high variance hides.
"""

from collections.abc import Iterator
from statistics import median

from analysis.power import smallest_effect
from analysis.variance_components import Spread, spread_of
from configuration.metrics import HELD_OUT_LOSS, SCORE
from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import NOTHING, decimals_for, fixed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, number, table

LOW_SHARE = 0.5
"""A task is of low variance where its spread is at most this share of the tasks' median."""


def noise_table(results: Results) -> Table:
    """Return the spreads of every metric, pooled over arms; `low_variance` is of tasks only."""
    return table(
        "noise", "metric n sd_pretraining sd_fine_tuning sd_difference smallest_effect low_variance", _rows(results)
    )


def _rows(results: Results) -> Iterator[Row]:
    spreads = {metric.name: _spread(results, metric) for metric in results.metrics}
    tasks = [metric for metric in results.metrics if metric.name not in (HELD_OUT_LOSS, SCORE) and not metric.further]
    known = {metric.name: _total(results, metric) for metric in tasks}
    sizes = [sd for sd in known.values() if sd is not None]
    for metric in results.metrics:
        total, mine = _total(results, metric), known.get(metric.name)
        low = None if mine is None or len(sizes) < 2 else mine <= LOW_SHARE * median(sizes)
        seeds = max((results.effect(arm.name, metric).n for arm in results.arms), default=0)
        spread = spreads[metric.name]
        difference = None if total is None else total * 2**0.5
        yield {
            "metric": metric.name,
            "n": seeds,
            "sd_pretraining": spread.pretraining,
            "sd_fine_tuning": spread.fine_tuning,
            "sd_difference": difference,
            "smallest_effect": None if difference is None else smallest_effect(difference, seeds),
            "low_variance": low,
        }


def low_variance(results: Results) -> frozenset[str]:
    """Return the tasks whose spread is small beside the others'."""
    return frozenset(str(row["metric"]) for row in _rows(results) if row["low_variance"])


def _spread(results: Results, metric: Metric) -> Spread:
    return spread_of([of_arm[metric.name] for of_arm in results.nested.values() if metric.name in of_arm])


def _total(results: Results, metric: Metric) -> float | None:
    """Return the pooled spread of one seed's value, as it enters a difference."""
    samples = [of_arm[metric.name] for of_arm in results.values.values() if metric.name in of_arm]
    return spread_of([{seed: (value,) for seed, value in sample.items()} for sample in samples]).pretraining


def noise_grid(results: Results, found: Table) -> Iterator[Grid]:
    """Yield the tasks' spreads, none where there are no tasks or one seed."""
    shown = {metric.name for metric in results.shown}
    rows = [row for row in found.rows if row["metric"] in shown and row["smallest_effect"] is not None]
    if not any(row["metric"] != HELD_OUT_LOSS for row in rows):
        return

    def cells(row: Row) -> list[str]:
        numbers = [number(row[name]) for name in ("sd_pretraining", "sd_fine_tuning", "smallest_effect")]
        decimals = decimals_for(numbers, fallback=3)
        texts = [NOTHING if value is None else fixed(value, decimals) for value in numbers]
        return [Metric(str(row["metric"])).title, *texts, "low variance" if row["low_variance"] else ""]

    columns = [Column("metric", numeric=False), Column("pretraining", "sd over seeds")]
    columns += [Column("fine-tuning", "sd over seeds"), Column("detectable Δ"), Column("mark", numeric=False)]
    yield grid("noise", "How noisy each metric is", columns, map(cells, rows))


def _content(evidence: Evidence) -> Content:
    noise = noise_table(evidence.results)
    note = "Detectable Δ: by one uncorrected test at 5% with 80% power, the spread pooled over all arms."
    grids = (with_notes(shown, [note]) for shown in noise_grid(evidence.results, noise))
    return Content((noise,), tuple(grids))


SECTION = Section("noise", _content)
