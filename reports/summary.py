"""What a terminal shows: of a comparison a few sentences, a table of arms and the seeds still needed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from reports.document import Report, Summary
from reports.finding import so_far
from reports.metric_clause import metric_clause
from reports.number_format import (
    NOTHING,
    TWO_SEEDS,
    TWO_SEEDS_NOTE,
    UNKNOWN,
    UNKNOWN_NOTE,
    difference_text,
    fixed,
    mean_text,
    sentence_of,
    short,
)
from reports.sections import sections
from reports.sections.failures import INCOMPLETE
from reports.sections.failures import TERM as FAILED
from reports.sections.main_table import BEST_MARK, MetricColumns, deciding_metrics, metric_columns
from reports.sections.tuned_effects import TUNED
from reports.sections.verdicts import verdict_text
from reports.statistics.arm_costs import costs_of
from reports.statistics.comparisons import TEST_NAMES, Comparison, Verdict
from reports.statistics.metrics import TITLES, Metric
from reports.statistics.results import Results
from reports.table import Cell, Column, Grid, shown, with_notes, words
from steeplechase.analysis.difference import Effect
from steeplechase.analysis.power import MOST_SEEDS
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.ledger.records import ArmRow, TrialStatus

CLAUSES_BEFORE = ("plateau", "tokens_to_loss")
"""The sections whose clauses come before those of the headline metrics."""
CLAUSES_IN_SUMMARY = ("claims", "equal_arms", "without_value", "squad", "failures", "post_hoc_additions")
"""The sections whose clauses follow those of the headline metrics."""
BELOW_REFERENCE = "‡"
"""Mark of a task below a reference."""


def summary_of(results: Results, chosen: Sequence[str] = ()) -> Summary | None:
    """Return the summary of an experiment whose arms are compared; None for a search and before any result.

    `chosen` says how the arms were chosen, where a search has done it.
    """
    measured = results.measured_headlines
    if results.is_search or not results.arms or not (measured or results.below_reference or results.none_learns):
        return None
    others = (clause for name in CLAUSES_IN_SUMMARY for clause in sections()[name].clauses(results))
    first = [metric_clause(results, metric) for metric in measured] or sections()["reference"].clauses(results)
    before = (clause for name in CLAUSES_BEFORE for clause in sections()[name].clauses(results))
    first = [*before, *first]
    clauses = [*first, "; ".join(filter(None, others))]
    undecided = dict(_undecided(results))
    known = [each.seeds_to_decide for each in undecided.values() if each.seeds_to_decide is not None]
    return Summary(
        finding=(*chosen, *so_far(results, tuple(map(sentence_of, filter(None, clauses))))),
        table=_table(results),
        undecided=tuple(f"{name} ({_needed(each)})" for name, each in undecided.items()),
        seeds_to_decide=max(known) if len(known) == len(undecided) > 0 else None,
    )


def _undecided(results: Results) -> Iterator[tuple[str, Comparison]]:
    for metric in results.headlines:
        for arm in results.arms:
            compared = None if arm.name == BASELINE else results.comparison(arm.name, metric)
            if compared is not None and compared.verdict is Verdict.UNDECIDED and compared.p is not None:
                yield f"{arm.name} on {metric.title}", compared


def _needed(compared: Comparison) -> str:
    if compared.gate_shut:
        return f"not tested, since its {TITLES[HELD_OUT_LOSS]} does not differ"
    return f"over {MOST_SEEDS} seeds" if compared.seeds_to_decide is None else f"{compared.seeds_to_decide} seeds"


def _table(results: Results) -> Grid:
    """Return arm, mean, Δ and verdict on each headline metric, the means of further tasks, and parameters."""
    columns = [words("arm", lambda arm: arm.name)]
    for group in (metric_columns(results, metric) for metric in results.headlines):
        columns += _of_headline(results, group)
    for group in (metric_columns(results, metric) for metric in _further(results)):
        task, decimals, effects = group.metric.title, group.decimals, group.effects
        title = f"{task} {BELOW_REFERENCE}" if task in results.below_reference else task
        columns.append(Column(title, read=partial(_mean, effects, decimals)))
    columns.append(Column("parameters", read=lambda arm: short(costs_of(results, arm).parameters)))
    arms = [arm for arm in results.arms if arm.name not in _waiting(results)]
    return next(iter(shown("summary", "Results", columns, arms, _notes(results))))


def _of_headline(results: Results, group: MetricColumns) -> Iterator[Column]:
    def mean(arm: ArmRow) -> Cell:
        strong = group.best == arm.name
        return Cell(mean_text(group.effects[arm.name], group.decimals) + (BEST_MARK if strong else ""), strong)

    def verdict(arm: ArmRow) -> str:
        tested = arm.name != BASELINE and group.effects[arm.name].difference.n > 0
        return verdict_text(results.comparison(arm.name, group.metric)) if tested else NOTHING

    def difference(arm: ArmRow) -> str:
        return difference_text(group.effects[arm.name].difference, group.decimals)

    title = group.metric.title
    yield from (Column("mean ± sd (n)", title, read=mean), Column("Δ [95%]", title, read=difference))
    yield words("verdict", verdict, title)


def _mean(effects: Mapping[str, Effect], decimals: int, arm: ArmRow) -> str:
    mean = effects[arm.name].mean
    return NOTHING if mean is None else fixed(mean, decimals)


def _waiting(results: Results) -> tuple[str, ...]:
    """Return the arms of which no trial has begun, such as those that --arms leaves for later."""
    return tuple(
        arm.name
        for arm in results.arms
        if all(history.status is TrialStatus.WAITING for history in results.trials.get(arm.name, ()))
    )


def _further(results: Results) -> list[Metric]:
    """Return the shown metrics beside the headlines; not the only task in a score, whose values are the score's."""
    scored = [task for task in results.tasks if task not in results.below_reference]
    same = scored if len(scored) == 1 and Metric(SCORE) in results.headlines else []
    return [metric for metric in results.shown if metric not in results.headlines and metric.name not in same]


def _notes(results: Results) -> Iterator[str]:
    test = TEST_NAMES[results.test]
    difference = f"n: {results.replicates}. Δ: difference from the baseline with its own 95% interval ({test})."
    yield f"{difference} Verdict: after correction for all headline tests."
    yield from deciding_metrics(results, results.shown)
    if waiting := _waiting(results):
        yield f"Not run yet: {', '.join(waiting)}."
    for task in results.below_reference:
        standing = results.standings[task]
        yield (
            f"{BELOW_REFERENCE} {task}: the mean over all arms, {fixed(standing.mean, 1)}, does not significantly "
            f"exceed {standing.missed_text}; no difference is claimed."
        )


VERDICTS = (
    *("candidates", "results", "latency", "factors main", "factors interaction", "effects", "claims", "orderings"),
    TUNED,
)
IN_SUMMARY = ("candidates", "results", "effects", "claims", "orderings")
"""Tables that the summary of a comparison replaces."""
CONDITIONS = (FAILED, INCOMPLETE)
MARKS = {
    TWO_SEEDS_NOTE: (TWO_SEEDS,),
    UNKNOWN_NOTE: (f"[{UNKNOWN}]", f"± {UNKNOWN}"),
}
"""The marks by the note that explains them."""


def brief(report: Report, command: str) -> Report:
    """Return the report reduced to its summary or, without one, to finding, results and verdicts.

    `command` shows the full report.
    """
    summary = report.summary
    kept = [each for each in report.grids if each.name in VERDICTS and not (summary and each.name in IN_SUMMARY)]
    footer = tuple((term, text) for term, text in report.footer if term in CONDITIONS)
    repeated = ("candidates", "results")  # the second says what the first does
    if not summary and {*repeated} <= {each.name for each in kept}:
        kept = [each for each in kept if each.name != repeated[1]]
    left_out = len(report.grids) - len(kept) - bool(summary)  # the summary is the table of results
    tables = {0: "", 1: "1 more table, "}.get(left_out, f"{left_out} more tables, ")
    more = f"{tables}all columns and the conditions:\n{command}"
    if summary is None:
        grids = _explained(report.statements, [each.brief for each in kept])
        return replace(report, grids=grids, footer=footer, limits="", more=more)
    grids = _explained(summary.finding, [each.brief for each in (summary.table, *kept)])
    return replace(report, statements=summary.finding, paper="", limits="", grids=grids, footer=footer, more=more)


def _explained(statements: Sequence[str], grids: Sequence[Grid]) -> tuple[Grid, ...]:
    """Return grids of which the first explains the marks of all and of the statements that no note explains."""
    cells = [cell.text for each in grids for row in each.rows for cell in row]
    explained = {note.partition(":")[0] for each in grids for note in each.notes}
    notes = [
        note
        for note, marks in MARKS.items()
        if note.partition(":")[0] not in explained
        and any(mark in text for mark in marks for text in (*statements, *cells))
    ]
    return tuple(with_notes(each, notes if place == 0 else ()) for place, each in enumerate(grids))
