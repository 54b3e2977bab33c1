"""The main table: one line per arm, a column group per metric, the best mean marked if significantly better.

The finding says of every headline metric which arm is best and whether it differs from the baseline.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from reports.metric_clause import metric_clause
from reports.number_format import (
    NOTHING,
    TWO_SEEDS_NOTE,
    UNKNOWN,
    counted,
    difference_text,
    mean_text,
    scientific,
    short,
    signed,
    two_seeds,
)
from reports.section import Content, Section, interval_cell
from reports.sections.searched_settings import settings_legend, tasks_selected_on_dev, title_of
from reports.sections.tokens_to_loss import arm_cell, loss_text
from reports.sections.without_value import reasons_of
from reports.statistics.arm_costs import costs_of
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.statistics.tokens_to_loss import tokens_to_loss_of
from reports.statistics.trial_status import status_of
from reports.table import Cell, Column, Grid, Row, Table, compared, interval, shown, words
from steeplechase.analysis.difference import Difference, Effect, MeanTest
from steeplechase.configuration.arm import BASELINE, changes_text, counting_note
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


def _columns(results: Results) -> Iterator[Column]:
    """Yield the columns of the main table, read from arms: metrics, the tokens to a loss, cost and status."""
    on_dev, without = tasks_selected_on_dev(results), _without_value(results)

    yield words("arm", lambda arm: arm.name)
    if results.is_search:
        yield words("changes", lambda arm: changes_text(arm.changes))
    for group in (metric_columns(results, metric) for metric in results.shown):
        title = title_of(group.metric, on_dev)
        title += BELOW_REFERENCE if group.metric.name in results.below_reference else ""
        further = group.metric not in results.headlines
        yield from _of_metric(results, group, title, further, NO_VALUE if group.metric.name in without else "")
    if (to_loss := results.once(tokens_to_loss_of)) is not None:
        cells = {each.arm: arm_cell(each) for each in to_loss.arms}
        title = f"tokens to a loss of {loss_text(to_loss)}"
        read = partial(_or_nothing, cells)
        yield Column("ratio to the baseline [95%]", title, further=True, read=read)
    yield Column("parameters", "size", read=lambda arm: short(costs_of(results, arm).parameters))
    yield Column("train FLOPs", "size", read=lambda arm: scientific(costs_of(results, arm).train_flops))
    if results.matched_arms:
        yield Column("copy's budget", "size", read=partial(_budget_text, results))
    yield words("status", lambda arm: status_of(results.trials[arm.name], results.seeds_in_all))


def _or_nothing(cells: Mapping[str, Cell], arm: ArmRow) -> str | Cell:
    return cells.get(arm.name, NOTHING)


def _of_metric(results: Results, group: MetricColumns, title: str, further: bool, no_value: str) -> Iterator[Column]:
    """Yield mean, difference and matched difference on a metric of the main table."""

    def mean(arm: ArmRow) -> Cell:
        strong = group.best == arm.name
        text = mean_text(group.effects[arm.name], group.decimals) + (BEST_MARK if strong else "")
        return Cell(no_value or text, strong)

    def matched(arm: ArmRow) -> Cell:
        return interval_cell(_matched_difference(results, arm.name, group.metric), group.decimals)

    yield Column("mean ± sd (n)", title, further=further, read=mean)
    yield Column(DELTA, title, further=further, read=partial(_difference, results, group))
    if results.matched_arms:
        yield Column(MATCHED_DELTA, title, further=further, read=matched)


def _further_metrics(results: Results) -> tuple[Grid, ...]:
    """Return the further metrics of the tasks, a user's own included; none without one."""

    def mean(group: MetricColumns, arm: ArmRow) -> str:
        return mean_text(group.effects[arm.name], group.decimals)

    columns = [words("arm", lambda arm: arm.name)]
    for group in (metric_columns(results, metric) for metric in results.metrics if metric.further):
        below = BELOW_REFERENCE if group.metric.task in results.below_reference else ""
        title = f"{group.metric.title}{below}"
        columns.append(Column("mean ± sd (n)", title, read=partial(mean, group)))
        columns.append(Column(DELTA, title, read=partial(_difference, results, group)))
    rows = results.arms if len(columns) > 1 else ()
    return shown("further metrics", "Further metrics of the tasks", columns, rows)


def _difference(results: Results, group: MetricColumns, arm: ArmRow) -> Cell:
    effect = group.effects[arm.name]
    difference = effect.difference
    unit = ("pair", "pairs") if results.test is MeanTest.PAIRED else ("seed of the baseline", "seeds of the baseline")
    fewer = f" ({counted(difference.n, *unit)})" if 0 < difference.n < effect.n else ""
    mark = SIGNIFICANT_MARK if arm.name in group.significant else ""
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
            effect, copy = results.effect(arm.name, metric), results.matched_arms.get(arm.name)
            difference = compared(_matched_difference(results, arm.name, metric), prefix="matched_")
            of_copy = {"matched_arm": copy, "matched_spend": arm.matched_spend, **difference}
            of_copy |= {"matched_n": None} if copy is None else {}
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
                **(of_copy if matched else {}),
            }


def _matched_difference(results: Results, arm: str, metric: Metric) -> Difference:
    """Return the difference of an arm's matched arm to the baseline; none where it has no matched arm."""
    matched = results.matched_arms.get(arm)
    if matched is None or matched not in results.values:
        return Difference()
    return results.effect(matched, metric).difference


def _budget_text(results: Results, arm: ArmRow) -> str:
    """Return the budget of an arm's copy: the count of parameters or FLOPs, and its relative difference."""
    copy, match = results.matched_arms.get(arm.name), results.experiment.match
    if copy is None:
        return NOTHING
    row = next((each for each in results.arms if each.name == copy), None)
    texts = {} if row is None else {"parameters": short(row.parameters), "train_flops": scientific(row.train_flops)}
    count = texts.get(match.budget if match else "", "")  # seconds depend on the machine
    share = "" if arm.matched_spend is None else f"{signed(100 * (arm.matched_spend - 1), 2)}%"
    return f"{count} ({share})" if count and share else count or share or UNKNOWN


def _matched_note(results: Results) -> str:
    """Return the note that defines matched; empty without matched arms."""
    match = results.experiment.match
    if match is None or not results.matched_arms:
        return ""
    shared = len(results.matched_arms) - len(set(results.matched_arms.values()))
    shared_copies = "; several arms may share one copy" if shared else ""
    budget, by = match.budget.replace("_", " "), match.by.replace("_", " ")
    return (
        f"matched Δ: difference of the arm's budget-matched copy, whose {by} is chosen so that its {budget} are "
        f"within {100 * match.tolerance:g}% of the baseline's; copy's budget: its own value{shared_copies}."
    )


def _notes(results: Results) -> Iterator[str]:
    effects = [results.effect(arm.name, metric) for arm in results.arms for metric in results.shown]
    tuned = len(results.experiment.fine_tuning.seeds) if results.tasks else 1
    averaged = f"; a task's value at a seed is the mean over its {tuned} fine-tuning seeds" if tuned > 1 else ""
    yield f"mean ± sd (n): over n {results.replicates}{averaged}."
    yield f"Δ [low, high]: difference from the baseline with its own 95% interval ({TEST_NAMES[results.test]})."
    further = "; on further metrics, for all tests on these" if {*results.shown} - {*results.headlines} else ""
    yield f"§: significant after the correction for all tests on the headline metrics{further} (see the verdicts)."
    if any(effect.difference.two_seeds for effect in effects):
        yield TWO_SEEDS_NOTE
    yield "*: best mean of its column, and significantly better than the baseline after the correction."
    yield "Held-out loss in nats, lower is better; tasks and score (the tasks' mean) 0 to 100, higher is better."
    yield from deciding_metrics(results, results.shown)
    if any(effect.n == 1 for effect in effects):
        yield "?: a single seed has no standard deviation and no interval."
    if any(effect.difference.n > 1 and effect.difference.low is None for effect in effects):
        yield "[?]: values that do not vary over seeds give no interval and no test."
    without = _without_value(results)
    for task, reason in without.items():
        yield f"{NO_VALUE}: {task}: {reason}, in dev."
    measurable = [metric for metric in results.shown if metric.name not in without]
    if any(results.effect(arm.name, metric).n == 0 for arm in results.arms for metric in measurable):
        plateau = ", or by no seed that left the plateau of the loss" if results.partly_learning else ""
        yield f"–: not measured at the end of the budget{plateau}."
    if any(results.diverged(arm.name)[0] for arm in results.arms):
        yield "Diverged seeds are left out, which favours their arms (Dodge et al. 2020, arXiv 2002.06305)."
    yield from filter(None, [_matched_note(results), counting_note(results.arms)])


def deciding_metrics(results: Results, metrics: Iterable[Metric]) -> Iterator[str]:
    """Yield the note on the metric that a task's values are of, for the tasks of `metrics` that have further ones."""
    several = {metric.task for metric in results.metrics if metric.further} & {metric.name for metric in metrics}
    if several:
        named = ", ".join(f"{task}: {results.primary(task)}" for task in sorted(several))
        yield f"Of a task with several metrics the first one decides: {named}."


def _without_value(results: Results) -> dict[str, str]:
    """Return the tasks whose primary metric has no value, each with the reason."""
    primary = results.experiment.fine_tuning.primary_metric
    reasons = reasons_of(results)
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


def _content(results: Results) -> Content:
    table = results_table(results)
    if not results.arms:
        return Content((table,))
    grids = shown("results", "Results", [*_columns(results)], results.arms, _notes(results), *_task_notes(results))
    return Content((table,), (*grids, *_further_metrics(results)))


SECTION = Section(
    "results", _content, clauses=lambda results: [metric_clause(results, each) for each in results.measured_headlines]
)
