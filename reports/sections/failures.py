"""Failed trials: which arms have no result because a stage raised or its worker died, and why."""

from collections.abc import Iterator

from ledger.records import TrialStatus, with_results
from ledger.snapshot import TrialHistory
from ledger.stage_results import FailedStage
from reports.sanitise import printable
from reports.statistics.results import Results

TERM = "Failed"
UNKNOWN_REASON = "no reason recorded"
LONGEST = 160
"""Characters of a reason that a sentence has room for."""


def failures_of(results: Results) -> dict[str, list[str]]:
    """Return by reason the arms whose trials failed, each with how many of its trials: `gated (2 of 2)`."""
    counts: dict[tuple[str, str], int] = {}
    for arm in results.arms:
        for history in results.trials[arm.name]:
            if history.status is TrialStatus.FAILED:
                key = (_reason(history), arm.name)
                counts[key] = counts.get(key, 0) + 1
    found: dict[str, list[str]] = {}
    for (reason, name), count in counts.items():
        found.setdefault(reason, []).append(f"{name} ({count} of {len(results.trials[name])})")
    return found


def _reason(history: TrialHistory) -> str:
    errors = [result.error for _, result in with_results(history.records, FailedStage)]
    return printable(errors[-1]) if errors and errors[-1] else UNKNOWN_REASON


def failures_clause(results: Results) -> str:
    """Return the failed arms with their reasons as part of a sentence; empty where none failed."""
    return "; ".join(f"failed: {', '.join(arms)}: {_short(why)}" for why, arms in failures_of(results).items())


def failures_notes(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the line of the footer; none where no trial failed."""
    found = "; ".join(f"{', '.join(arms)}: {why}" for why, arms in failures_of(results).items())
    if found:
        yield TERM, f"{found}. A failed trial has no result; the same `run` tries it again"


def _short(reason: str) -> str:
    """Return a reason without what would end the sentence that quotes it."""
    cut = reason if len(reason) <= LONGEST else f"{reason[: LONGEST - 1]}…"
    return cut.rstrip(" .;")
