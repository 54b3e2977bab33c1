"""Metrics without a value: what the examples of a task leave undefined, or the predictions of single trials."""

from collections.abc import Iterator, Mapping

from reports.section import Section
from reports.statistics.results import Results
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import FineTuneResult

TERM = "Metrics without a value"


def reasons_of(results: Results) -> dict[str, Mapping[str, str]]:
    """Return by task its metrics without a value on dev, each with the reason."""
    return {
        task: {metric: reason for each in found for metric, reason in (each.without_value or {}).items()}
        for task, found in _found(results).items()
        if any(each.without_value for each in found)
    }


def _found(results: Results) -> dict[str, list[FineTuneResult]]:
    of_trials = (record for history in results.snapshot.histories for record in history.records)
    by_task: dict[str, list[FineTuneResult]] = {}
    for _, result in with_results([*results.snapshot.shared, *of_trials], FineTuneResult):
        by_task.setdefault(result.task, []).append(result)
    return by_task


def _said(results: Results) -> Iterator[str]:
    found = _found(results)
    for task, reasons in sorted(reasons_of(results).items()):
        by_reason: dict[str, list[str]] = {}
        for metric, reason in reasons.items():
            absent = sum(metric in (each.without_value or {}) for each in found[task])
            some = absent < len(found[task])
            where = f", in {absent} of {len(found[task])} evaluations, which are in no mean" if some else ", in dev"
            by_reason.setdefault(f"{reason}{where}", []).append(metric)
        for reason, metrics in by_reason.items():
            have = "has" if len(metrics) == 1 else "have"
            yield f"on {task} {', '.join(metrics)} {have} no value: {reason}"


SECTION = Section(
    "without_value",
    clauses=lambda results: ["; ".join(_said(results))],
    conditions=lambda results: [(TERM, "; ".join(_said(results)))],
)
