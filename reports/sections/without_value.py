"""Metrics without a value: what the examples of a task leave undefined, whatever a model predicts."""

from collections.abc import Iterable, Iterator, Mapping

from reports.section import Section
from reports.statistics.evidence import Evidence
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import FineTuneResult

TERM = "Metrics without a value"


def reasons_of(snapshot: Snapshot) -> dict[str, Mapping[str, str]]:
    """Return by task its metrics without a value on dev, each with the reason."""
    records: Iterable[Record] = [
        *snapshot.shared,
        *(record for history in snapshot.histories for record in history.records),
    ]
    results = (result for _, result in with_results(records, FineTuneResult))
    return {result.task: result.without_value for result in results if result.without_value}


def without_value_clause(snapshot: Snapshot) -> str:
    """Return the clause of the finding; empty where every metric has a value."""
    return "; ".join(_said(snapshot))


def _conditions(evidence: Evidence) -> Iterator[tuple[str, str]]:
    if text := without_value_clause(evidence.results.snapshot):
        yield TERM, text


def _said(snapshot: Snapshot) -> Iterator[str]:
    for task, reasons in sorted(reasons_of(snapshot).items()):
        by_reason: dict[str, list[str]] = {}
        for metric, reason in reasons.items():
            by_reason.setdefault(reason, []).append(metric)
        for reason, metrics in by_reason.items():
            have = "has" if len(metrics) == 1 else "have"
            yield f"on {task} {', '.join(metrics)} {have} no value: {reason}, in dev"


SECTION = Section(
    "without_value",
    clauses=lambda evidence: [without_value_clause(evidence.results.snapshot)],
    conditions=_conditions,
)
