"""The main table: one line per arm, a column group per metric, the best mean marked if significantly better.

The finding says of every headline metric which arm is best and whether it differs from the baseline.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from reports.columns import interval_cell
from reports.grid import Cell, Column, Grid, grid, with_notes, words
from reports.matched_budget import budget_text, matched_difference, matched_note
from reports.metric_clause import metric_clause
from reports.number_format import (
    NOTHING,
    TWO_SEEDS,
    counted,
    difference_text,
    mean_text,
    scientific,
    short,
    two_seeds,
)
from reports.section import Content, Section
from reports.sections.searched_settings import settings_legend, tasks_selected_on_dev, title_of
from reports.sections.tokens_to_loss import arm_cell, loss_text
from reports.sections.without_value import reasons_of
from reports.statistics.arm_costs import costs_of
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.statistics.tokens_to_loss import tokens_to_loss_of
from reports.statistics.trial_status import status_of
from reports.table import Row, Table, compared, interval
from steeplechase.analysis.difference import Effect, MeanTest
from steeplechase.configuration.arm import BASELINE, changes_text
from steeplechase.configuration.counting_notes import counting_note
from steeplechase.ledger.records import ArmRow

BEST_MARK = " *"
SIGNIFICANT_MARK = " §"
DELTA = "Δ [95%]"
RESULT_COLUMNS = ("arm", "metric", "n", "mean", "sd", "delta", "low", "high", "parameters", "train_flops", "status")
MATCHED_DELTA = "matched Δ [95%] (n)"
NO_VALUE = "no value"
BELOW_REFERENCE = ", below reference"


@dataclass(frozen=True)
class MetricColumns:
    """A metric's effects by arm with their number of decimals."""

    metric: Metric
    effects: dict[str, Effect]
    decimals: int
    significant: frozenset[str]
    """The arms that differ significantly from the baseline after the correction."""

    @cached_property
    def best(self) -> str | None:
        """The arm with the best mean, if it differs significantly from the baseline on the better side."""
        means = {arm: effect.mean for arm, effect in self.effects.items() if effect.mean is not None}
        if not means:
            return None
        arm = self.metric.best(means)
        difference = self.effects[arm].difference
        better = difference.delta is not None and self.metric.better(difference.delta, 0.0)
        return arm if arm in self.significant and better else None


def metric_columns(results: Results, metric: Metric) -> MetricColumns:
    """Return one metric's columns, with decimals by their standard deviations."""
    effects = {arm.name: results.effect(arm.name, metric) for arm in results.arms}
    rivals = (arm for arm in effects if arm != BASELINE)
    significant = frozenset(arm for arm in rivals if results.comparison(arm, metric).significant)
    return MetricColumns(metric, effects, results.decimals(metric), significant)


def _groups(results: Results) -> tuple[MetricColumns, ...]:
    return tuple(metric_columns(results, metric) for metric in results.shown)


def _overview(results: Results) -> Grid:
    """Return the main grid: each arm with its metrics, cost and status."""
    columns = [words("arm"), *([words("changes")] if results.is_search else [])]
    on_dev = tasks_selected_on_dev(results)
    for group in results.once(_groups):
        title = title_of(group.metric, on_dev)
        title += BELOW_REFERENCE if group.metric.name in results.below_reference else ""
        titles = ["mean ± sd (n)", DELTA, *([MATCHED_DELTA] if results.matched_arms else [])]
        further = group.metric not in results.headlines
        columns += [Column(title_of_column, title, further=further) for title_of_column in titles]
    to_loss = results.once(tokens_to_loss_of)
    if to_loss is not None:
        columns.append(
            Column("ratio to the baseline [95%]", f"tokens to a loss of {loss_text(to_loss)}", further=True)
        )
    sizes = ("parameters", "train FLOPs", *(["copy's budget"] if results.matched_arms else []))
    columns += [*(Column(size, "size") for size in sizes), words("status")]
    without = _without_value(results)
    return grid("results", "Results", columns, (_cells(results, arm, without) for arm in results.arms))


def further_metrics(results: Results) -> Iterator[Grid]:
    """Yield the further metrics of the tasks, a user's own included; none without one."""
    groups = [metric_columns(results, metric) for metric in results.metrics if metric.further]
    if not groups:
        return
    columns = [words("arm")]
    for group in groups:
        below = BELOW_REFERENCE if group.metric.task in results.below_reference else ""
        columns += [Column(title, f"{group.metric.title}{below}") for title in ("mean ± sd (n)", DELTA)]
    rows = [[arm.name, *_metric_cells(results, groups, arm.name)] for arm in results.arms]
    yield grid("further metrics", "Further metrics of the tasks", columns, rows)


def _metric_cells(results: Results, groups: Sequence[MetricColumns], arm: str) -> Iterator[str | Cell]:
    for group in groups:
        yield mean_text(group.effects[arm], group.decimals)
        yield _difference(results, group, arm)


def _cells(results: Results, arm: ArmRow, without: Collection[str]) -> list[str | Cell]:
    costs = costs_of(results, arm)
    cells: list[str | Cell] = [arm.name, *([changes_text(arm.changes)] if results.is_search else [])]
    for group in results.once(_groups):
        strong = group.best == arm.name
        mean = mean_text(group.effects[arm.name], group.decimals) + (BEST_MARK if strong else "")
        cells.append(Cell(NO_VALUE if group.metric.name in without else mean, strong))
        cells.append(_difference(results, group, arm.name))
        if results.matched_arms:
            cells.append(interval_cell(matched_difference(results, arm.name, group.metric), group.decimals))
    to_loss = results.once(tokens_to_loss_of)
    if to_loss is not None:
        cells += [next((arm_cell(each) for each in to_loss.arms if each.arm == arm.name), NOTHING)]
    budget = [budget_text(results, arm)] if results.matched_arms else []
    status = status_of(results.trials[arm.name], results.seeds_in_all)
    return [*cells, short(costs.parameters), scientific(costs.train_flops), *budget, status]


def _difference(results: Results, group: MetricColumns, arm: str) -> Cell:
    effect = group.effects[arm]
    difference = effect.difference
    unit = ("pair", "pairs") if results.test is MeanTest.PAIRED else ("seed of the baseline", "seeds of the baseline")
    fewer = f" ({counted(difference.n, *unit)})" if 0 < difference.n < effect.n else ""
    mark = SIGNIFICANT_MARK if arm in group.significant else ""
    text = f"{difference_text(difference, group.decimals)}{two_seeds(difference)}{mark}{fewer}"
    return Cell(text, intervals=int(difference.low is not None))


def results_table(results: Results, matched: bool = True) -> Table:
    """Return one row per arm and metric, the baseline first, metrics in alphabetical order.

    Where arms have budget-matched copies, the row also has the copy's difference; not unless `matched`.
    """
    rows = tuple(_rows(results, matched and bool(results.matched_arms)))
    return Table.declared("results", tuple(rows[0]) if rows else RESULT_COLUMNS, rows)


def _rows(results: Results, matched: bool) -> Iterator[Row]:
    for arm in results.arms:
        status, costs = status_of(results.trials[arm.name], results.seeds_in_all), costs_of(results, arm)
        for metric in results.metrics:
            effect = results.effect(arm.name, metric)
            yield {
                "arm": arm.name,
                "metric": metric.name,
                "n": effect.n,
                "mean": effect.mean,
                "sd": effect.sd,
                **interval(effect.difference),
                "parameters": costs.parameters,
                "train_flops": costs.train_flops,
                "status": status,
                **(_matched(results, arm, metric) if matched else {}),
            }


def _matched(results: Results, arm: ArmRow, metric: Metric) -> Row:
    difference = compared(matched_difference(results, arm.name, metric), prefix="matched_")
    copy = results.matched_arms.get(arm.name)
    n = difference["matched_n"] if copy is not None else None
    return {"matched_arm": copy, "matched_spend": arm.matched_spend, **difference, "matched_n": n}


def _notes(results: Results) -> Iterator[str]:
    effects = [results.effect(arm.name, metric) for arm in results.arms for metric in results.shown]
    tuned = len(results.experiment.fine_tuning.seeds) if results.tasks else 1
    averaged = f"; a task's value at a seed is the mean over its {tuned} fine-tuning seeds" if tuned > 1 else ""
    yield f"mean ± sd (n): over n {results.replicates}{averaged}."
    yield f"Δ [low, high]: difference from the baseline with its own 95% interval ({TEST_NAMES[results.test]})."
    further = "; on further metrics, for all tests on these" if {*results.shown} - {*results.headlines} else ""
    yield f"§: significant after the correction for all tests on the headline metrics{further} (see the verdicts)."
    if any(effect.difference.two_seeds for effect in effects):
        yield (
            f"{TWO_SEEDS}: two seeds: the standard deviation comes from two values, and the interval may be narrow "
            "by chance."
        )
    yield "*: best mean of its column, and significantly better than the baseline after the correction."
    yield "Held-out loss in nats, lower is better; tasks and score (the tasks' mean) 0 to 100, higher is better."
    if any(effect.n == 1 for effect in effects):
        yield "?: a single seed has no standard deviation and no interval."
    if any(effect.difference.n > 1 and effect.difference.low is None for effect in effects):
        yield "[?]: values that do not vary over seeds give no interval and no test."
    without = _without_value(results)
    for task, reason in without.items():
        yield f"{NO_VALUE}: {task}: {reason}, in dev."
    measurable = [metric for metric in results.shown if metric.name not in without]
    if any(results.effect(arm.name, metric).n == 0 for arm in results.arms for metric in measurable):
        yield "–: not measured at the end of the budget."
    if any(results.diverged(arm.name)[0] for arm in results.arms):
        yield "Diverged seeds are left out, which favours their arms (Dodge et al. 2020, arXiv 2002.06305)."
    yield from filter(None, [matched_note(results), counting_note(results.arms)])


def _without_value(results: Results) -> dict[str, str]:
    """Return the tasks whose primary metric has no value, each with the reason."""
    primary = results.experiment.fine_tuning.primary_metric
    reasons = reasons_of(results.snapshot)
    return {task: found[primary(task)] for task, found in reasons.items() if primary(task) in found}


def _task_notes(results: Results) -> Iterator[str]:
    for task in results.below_reference:
        standing = results.standings[task]
        yield (
            f"below reference: on {task} the mean over all arms, {standing.mean:.1f}, does not significantly exceed "
            f"{standing.missed_text} (one-sided t at 5%, sd pooled over arms). It is no "
            "part of the score, the finding or the order of tests."
        )
    yield from settings_legend(results)


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    if not results.arms:
        return Content((results_table(results),), ())
    shown = with_notes(_overview(results), _notes(results), _task_notes(results))
    return Content((results_table(results),), (shown, *further_metrics(results)))


def _clauses(evidence: Evidence) -> Iterator[str]:
    yield from (metric_clause(evidence.results, metric) for metric in evidence.results.measured_headlines)


SECTION = Section("results", _content, clauses=_clauses)
