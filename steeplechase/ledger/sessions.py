"""Sessions: time, command, machine and duration of every run of an experiment; and the results that it took over.

A session is written when its first stage has been computed, so that a run without any work leaves the ledger
unchanged. The session of a killed process has a start and no duration. No result depends on sessions.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import Ledger, LedgerRows, numbered_facts
from steeplechase.ledger.facts import ReusedSource, SessionDuration, SessionStart, SessionStop

STARTED, DURATION, STOPPED = "session {}", "session {} duration", "session {} stopped"
REUSED = "reused {}"


@dataclass(frozen=True)
class Session:
    """One process that has added computed stages to the ledger."""

    command: str
    """Command line that repeats the run; empty if the program was called from Python."""
    started: str
    """In UTC."""
    machine: Mapping[str, JsonValue]
    seconds: float | None
    """Wall time; None if the process was killed or is still running."""
    stopped_by: str | None = None
    """The limit that ended it, None if it ended otherwise."""
    unfinished_seconds: float = 0.0
    """Duration of the stages that were interrupted, over all workers."""
    interruption: str | None = None
    """How it ended if neither a limit ended it nor its work was done; None also if the process was killed."""


def sessions(ledger: LedgerRows) -> tuple[Session, ...]:
    """Return the sessions, the earliest first; ledgers of early versions have none."""
    return tuple(_read(ledger))


def session_facts(ledger: LedgerRows) -> Iterator[str]:
    """Yield the names of the facts of the sessions."""
    for number, session in enumerate(sessions(ledger), start=1):
        yield STARTED.format(number)
        if session.seconds is not None:
            yield DURATION.format(number)
        if session.stopped_by is not None or session.interruption is not None:
            yield STOPPED.format(number)


class Stopwatch:
    """Writes this process's session into the ledger."""

    def __init__(self, ledger: Ledger, command: str, machine: Mapping[str, JsonValue]) -> None:
        self._ledger, self._command, self._machine = ledger, command, machine
        self._started, self._moment = time.monotonic(), datetime.now(UTC)
        self._number: int | None = None

    def begin(self) -> None:
        """Write the start, once."""
        if self._number is None:
            self._number = len(sessions(self._ledger)) + 1
            moment = self._moment.isoformat(timespec="seconds")
            fact: dict[str, JsonValue] = {
                "command": self._command,
                "started": moment,
                "machine": dict(self._machine),
            }
            self._ledger.set_fact(STARTED.format(self._number), fact)

    def stop(self, limit: str, unfinished_seconds: float) -> None:
        """Write the limit that ends the session; a session without a computed stage begins with it."""
        self._stopped({"limit": limit}, unfinished_seconds)

    def interrupt(self, how: str, unfinished_seconds: float) -> None:
        """Write that a signal or an error ends the session, if it has begun or stages were running."""
        if self._number is not None or unfinished_seconds:
            self._stopped({"interruption": how}, unfinished_seconds)

    def _stopped(self, reason: dict[str, JsonValue], unfinished_seconds: float) -> None:
        self.begin()
        self._ledger.set_fact(
            STOPPED.format(self._number), {**reason, "unfinished_seconds": round(unfinished_seconds, 1)}
        )

    def end(self) -> None:
        """Write the duration, if the session has begun."""
        if self._number is not None:
            seconds = round(time.monotonic() - self._started, 1)
            self._ledger.set_fact(DURATION.format(self._number), {"seconds": seconds})


def _read(ledger: LedgerRows) -> Iterator[Session]:
    for number, start in numbered_facts(ledger, STARTED):
        begun, duration = SessionStart.model_validate(start), ledger.fact(DURATION.format(number))
        stop = SessionStop.model_validate(ledger.fact(STOPPED.format(number)) or {})
        yield Session(
            **dict(begun),
            seconds=None if duration is None else SessionDuration.model_validate(duration).seconds,
            stopped_by=stop.limit,
            unfinished_seconds=stop.unfinished_seconds or 0.0,
            interruption=stop.interruption,
        )


def reused_sources(rows: LedgerRows) -> tuple[ReusedSource, ...]:
    """Return the results that trials of a ledger may be taken from, in the order in which they were named."""
    return tuple(ReusedSource.model_validate(fact) for _, fact in numbered_facts(rows, REUSED))


def source_facts(rows: LedgerRows) -> Iterator[str]:
    """Yield the names of the facts of the sources."""
    return (REUSED.format(number) for number, _ in numbered_facts(rows, REUSED))
