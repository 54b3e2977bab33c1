"""The status of an arm in words: stopped, diverged, failed, waiting, running or finished."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.trial_history import TrialHistory


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
    stopped = [(stop_of(history), history) for history in trials]
    parts = []
    for stop in sorted({stop for stop, _ in stopped if stop is not None}):
        histories = [history for other, history in stopped if other == stop]
        stops_here = [history.stopped_by for history in histories if history.stopped_by is not None]
        values = ", ".join("not finite" if stop.value is None else f"{stop.value:.4g}" for stop in stops_here)
        audited = any(history.audit for history in histories)
        seeds = "" if len(stops_here) == total else f" ({_seeds(len(stops_here), total)})"
        parts.append(f"{stop.text}{seeds}, value {values}{', audited' if audited else ''}")
    return parts


class Cause(StrEnum):
    """Why a trial was stopped, as the audit's table names it."""

    HURDLE = ""
    SETS_HURDLE = "set here"
    """There was no threshold yet: its value is one of those that set it, and nothing was decided on it."""
    END_OF_BUDGET = "end of budget"
    """It waited when the budget of the search's policy ended."""


class Stop(NamedTuple):
    """At which hurdle a trial was stopped, counted from 0, and why."""

    level: int
    cause: Cause = Cause.HURDLE

    @property
    def text(self) -> str:
        """The stop in words."""
        end = {Cause.SETS_HURDLE: ", which it sets", Cause.END_OF_BUDGET: " by the end of the budget"}
        return f"stopped at hurdle {self.level + 1}{end.get(self.cause, '')}"


def stop_of(history: TrialHistory) -> Stop | None:
    """Return the stop of a stopped trial, None of another."""
    if history.status is not TrialStatus.STOPPED or (decision := history.stopped_by) is None:
        return None
    sets = decision.threshold is None and decision.value is not None
    cause = Cause.SETS_HURDLE if sets else Cause.HURDLE
    return Stop(decision.level, Cause.END_OF_BUDGET if history.stopped_at_end_of_budget else cause)


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
