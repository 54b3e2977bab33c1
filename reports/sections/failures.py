"""Trials without a result: diverged, failed with the reason (a stage raised, a worker died), or left by a limit."""

from collections.abc import Iterator

from reports.section import Section
from reports.statistics.results import Results
from reports.table import printable
from steeplechase.configuration.arm import BASELINE
from steeplechase.ledger.records import NOT_ENDED, TrialStatus, with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import FailedStage

TERM = "Failed"
INCOMPLETE = "Incomplete"
UNKNOWN_REASON = "no reason recorded"
ENDS = {False: ", and in no mean", True: " in fine-tuning, and in no mean of what they did not reach"}
"""How a trial diverged, by whether it has a measured value."""
LONGEST = 160
"""Maximum characters of a reason in a sentence."""


def failures_of(results: Results) -> dict[str, list[str]]:
    """Return by reason the arms with failed trials and their number: `gated (2 of 2)`."""
    counts: dict[tuple[str, str], int] = {}
    for arm in results.arms:
        for history in results.trials[arm.name]:
            if history.status is TrialStatus.FAILED:
                errors = [result.error for _, result in with_results(history.records, FailedStage)]
                key = (printable(errors[-1]) if errors and errors[-1] else UNKNOWN_REASON, arm.name)
                counts[key] = counts.get(key, 0) + 1
    by_reason: dict[str, list[str]] = {}
    for (reason, name), count in counts.items():
        by_reason.setdefault(reason, []).append(f"{name} ({count} of {len(results.trials[name])})")
    return by_reason


def diverged_clause(results: Results) -> str:
    """Return the finding's clause on diverged seeds, which are in no mean of what they did not reach."""
    found = {which: [f"{arm} ({share} seeds)" for arm, share in _diverged_of(results, which)] for which in ENDS}
    return "; ".join(f"diverged{how}: {', '.join(found[which])}" for which, how in ENDS.items() if found[which])


def failures_clause(results: Results) -> str:
    """Return the finding's clause on failed arms with their reasons; empty without one."""
    return "; ".join(f"failed: {', '.join(arms)}: {_short(reason)}" for reason, arms in failures_of(results).items())


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    yield "Diverged", _diverged(results)
    failed = "; ".join(f"{', '.join(arms)}: {reason}" for reason, arms in failures_of(results).items())
    if failed:
        yield TERM, f"{failed}. A failed trial has no result; repeating the same `run` tries it again"
    yield from limit_notes(results.snapshot)


def _diverged_of(results: Results, measured: bool) -> list[tuple[str, str]]:
    """Return the arms with trials that diverged before, or behind, a first measured value, and how many: `1 of 3`."""
    found = []
    for arm in results.arms:
        samples, trials = results.measured_values.get(arm.name, {}).values(), results.trials[arm.name]
        diverged = (history.trial.seed for history in trials if history.status is TrialStatus.DIVERGED)
        count = sum(any(seed in sample for sample in samples) is measured for seed in diverged)
        found += [(arm.name, f"{count} of {len(trials)}")] if count else []
    return found


def _diverged(results: Results) -> str:
    found = {which: _diverged_of(results, which) for which in ENDS}
    left_out = {False: "left out of all means", True: "left out of the means of what they did not reach"}
    parts = [
        f"{', '.join(f'{arm} {share}' for arm, share in by_arm)} trials, {left_out[which]}"
        for which, by_arm in found.items()
        if by_arm
    ]
    if any(arm == BASELINE for by_arm in found.values() for arm, _ in by_arm):
        parts.append(f"the {BASELINE} is one of them")
    return "; ".join(parts) or "no trial"


def limit_notes(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the footer's note on a run that a limit, a signal or an error ended; none once every trial has ended."""
    waiting = sum(history.status in NOT_ENDED for history in snapshot.histories)
    left = f"{waiting} of {len(snapshot.histories)} trials {'has' if waiting == 1 else 'have'} not ended"
    left = left if snapshot.histories else "no trial has begun"
    if (limit := snapshot.stopped_by_limit) is not None:
        yield INCOMPLETE, f"{limit} ended the run, and {left}; the same `run` with a higher limit resumes it"
    elif (how := snapshot.interruption) is not None:
        yield INCOMPLETE, f"the run was {how}, and {left}; the same `run` resumes it"


def _short(reason: str) -> str:
    """Return a reason cut to the maximum, without the punctuation that would end the sentence around it."""
    cut = reason if len(reason) <= LONGEST else f"{reason[: LONGEST - 1]}…"
    return cut.rstrip(" .;")


SECTION = Section(
    "failures",
    clauses=lambda results: [diverged_clause(results), failures_clause(results)],
    conditions=_conditions,
)
