"""Metrics without a value: what the examples of a task leave undefined, whatever a model predicts."""

from collections.abc import Iterator, Mapping

from reports.section import Section
from reports.statistics.results import Results
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import FineTuneResult

TERM = "Metrics without a value"


def reasons_of(results: Results) -> dict[str, Mapping[str, str]]:
    """Return by task its metrics without a value on dev, each with the reason."""
    of_trials = (record for history in results.snapshot.histories for record in history.records)
    found = (result for _, result in with_results([*results.snapshot.shared, *of_trials], FineTuneResult))
    return {result.task: result.without_value for result in found if result.without_value}


def _said(results: Results) -> Iterator[str]:
    for task, reasons in sorted(reasons_of(results).items()):
        by_reason: dict[str, list[str]] = {}
        for metric, reason in reasons.items():
            by_reason.setdefault(reason, []).append(metric)
        for reason, metrics in by_reason.items():
            have = "has" if len(metrics) == 1 else "have"
            yield f"on {task} {', '.join(metrics)} {have} no value: {reason}, in dev"


SECTION = Section(
    "without_value",
    clauses=lambda results: ["; ".join(_said(results))],
    conditions=lambda results: [(TERM, "; ".join(_said(results)))],
)
