"""The main grid: one line per arm, a column group per metric, the best mean marked where it differs significantly."""

from dataclasses import dataclass

from analysis.effects import Effect
from configuration.arm import BASELINE
from reports.grid import Cell, Column, Grid, grid
from reports.number_format import difference_text, mean_text, scientific, short, two_seeds
from reports.sections.difference_cells import interval_cell
from reports.sections.matched_budget import budget_text
from reports.sections.searched_settings import flattered_tasks, title_of
from reports.sections.trial_status import status_of
from reports.sections.variance import low_variance
from reports.statistics.metrics import Metric
from reports.statistics.results import Results

BEST_MARK = " *"
DELTA = "Δ [95%]"
MATCHED_DELTA = "matched Δ [95%] (n)"
LOW_VARIANCE = ", low variance"


@dataclass(frozen=True)
class MetricColumns:
    """A metric's effects by arm with the digits they are shown in."""

    metric: Metric
    effects: dict[str, Effect]
    decimals: int
    told: frozenset[str]
    """The arms that differ significantly from the baseline, corrected for the others."""

    @property
    def best(self) -> str | None:
        """The arm with the best mean, if it differs significantly from the baseline on the better side."""
        means = {arm: effect.mean for arm, effect in self.effects.items() if effect.mean is not None}
        if not means:
            return None
        arm = min(means, key=lambda arm: means[arm] if self.metric.lower_is_better else -means[arm])
        difference = self.effects[arm].difference
        better = difference.delta is not None and self.metric.better(difference.delta, 0.0)
        return arm if arm in self.told and better else None


def metric_columns(results: Results, metric: Metric) -> MetricColumns:
    """Return one metric's columns; the decimals follow from the spreads in them."""
    effects = {arm.name: results.effect(arm.name, metric) for arm in results.arms}
    told = frozenset(arm for arm in effects if arm != BASELINE and results.comparison(arm, metric).told)
    return MetricColumns(metric, effects, results.decimals(metric), told)


def overview(results: Results) -> Grid:
    """Return the arms with their cost, their metrics and how they stand."""
    groups = [metric_columns(results, metric) for metric in results.shown]
    columns = [Column("arm", numeric=False), Column("parameters", "size"), Column("train FLOPs", "size")]
    if results.matched_arms:
        columns.append(Column("twin spends", "size"))
    columns.append(Column("status", numeric=False))
    low, flattered = low_variance(results), flattered_tasks(results)
    for group in groups:
        title = title_of(group.metric, flattered) + (LOW_VARIANCE if group.metric.name in low else "")
        titles = ["mean ± sd (n)", DELTA, *([MATCHED_DELTA] if results.matched_arms else [])]
        further = group.metric not in results.headlines
        columns += [Column(each, title, further=further) for each in titles]
    return grid(
        "results", "Results", columns, (_row(results, position, groups) for position in range(len(results.arms)))
    )


def _row(results: Results, position: int, groups: list[MetricColumns]) -> list[str | Cell]:
    arm = results.arms[position]
    cells: list[str | Cell] = [arm.name, short(arm.parameters), scientific(arm.train_flops)]
    if results.matched_arms:
        cells.append(budget_text(results, arm))
    cells.append(status_of(results.trials[arm.name], results.seeds_in_all))
    for group in groups:
        effect, strong = group.effects[arm.name], group.best == arm.name
        mark = BEST_MARK if strong else ""
        cells.append(Cell(mean_text(effect, group.decimals) + mark, strong))
        cells.append(_difference(effect, group.decimals))
        if results.matched_arms:
            cells.append(interval_cell(results.matched(arm.name, group.metric), group.decimals))
    return cells


def _difference(effect: Effect, decimals: int) -> Cell:
    found = effect.difference
    fewer = f" ({found.pairs} pairs)" if 0 < found.pairs < effect.n else ""
    text = f"{difference_text(found, decimals)}{two_seeds(found)}{fewer}"
    return Cell(text, intervals=int(found.low is not None))
