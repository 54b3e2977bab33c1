"""The status of an arm in words: stopped, diverged, failed, waiting, running or finished."""

from collections import Counter
from collections.abc import Sequence

from ledger.records import Decision, TrialStatus
from ledger.snapshot import TrialHistory


def status_of(trials: Sequence[TrialHistory], seeds_in_all: int) -> str:
    """Return the joint status of an arm's trials."""
    total = max(seeds_in_all, len(trials))
    counts = Counter(history.status for history in trials)
    ended_badly = [
        *_stopped(trials, total),
        *_counted("diverged", counts[TrialStatus.DIVERGED], total, always=True),
        *_counted("failed", counts[TrialStatus.FAILED], total, always=False),
    ]
    return "; ".join([*ended_badly, *_progress(counts, total, bool(ended_badly))])


def _stopped(trials: Sequence[TrialHistory], total: int) -> list[str]:
    stops = [history.stopped_by for history in trials if history.status is TrialStatus.STOPPED]
    parts = []
    for level, sets in sorted({(stop.level, _sets(stop)) for stop in stops if stop is not None}):
        stops_here = [stop for stop in stops if stop is not None and (stop.level, _sets(stop)) == (level, sets)]
        values = ", ".join("not finite" if stop.value is None else f"{stop.value:.4g}" for stop in stops_here)
        audited = sum(bool(history.audit) for history in trials if history.stopped_by in stops_here)
        seeds = "" if len(stops_here) == total else f" ({_seeds(len(stops_here), total)})"
        stopped = f"stopped at hurdle {level + 1}{', which it sets' if sets else ''}"
        parts.append(f"{stopped}{seeds}, value {values}{', audited' if audited else ''}")
    return parts


def _sets(stop: Decision) -> bool:
    """Return whether there was no threshold yet and the trial is one of those that set it."""
    return stop.threshold is None and stop.value is not None


def _counted(word: str, count: int, total: int, always: bool) -> list[str]:
    if not count:
        return []
    return [f"{word} ({_seeds(count, total)})" if always or count < total else word]


def _progress(counts: Counter[TrialStatus], total: int, ended_badly: bool) -> list[str]:
    finished, ended = counts[TrialStatus.FINISHED], sum(counts.values())
    waiting = counts[TrialStatus.WAITING] + counts[TrialStatus.RUNNING] + total - ended
    if not waiting:
        return [] if ended_badly else ["finished"]
    if finished:
        return [_seeds(finished, total)]
    return ["running" if counts[TrialStatus.RUNNING] else "waiting"]


def _seeds(count: int, total: int) -> str:
    return f"{count} of {total} seed{'' if total == 1 else 's'}"
