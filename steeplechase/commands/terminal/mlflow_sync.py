"""Mirrors a running experiment to MLflow; an outage is a warning and never stops a trial or a report.

The mirror can be rebuilt, so an unreachable, locked or damaged store never fails a run: it is unchanged, and reported
in one line at the start and, if it persists, at the end.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

from runners.tracking import Patience, TrackingStore, TrackingUnavailable, mirror
from steeplechase.foundation.errors import UserError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.snapshot import Snapshot, snapshot

SECONDS_BETWEEN_MIRRORS = 30.0
LOCK_SECONDS_BETWEEN = 5.0  # while the experiment runs, since another mirror follows
LONGEST_STOP_SECONDS = 10.0  # for the end of the current mirror
LONGEST_FINISH_SECONDS = 120.0  # without a run being sent; a first mirror of a thousand candidates takes 15
SECONDS_BETWEEN_REPORTS = 10.0  # of the progress of a long mirror
OnLine = Callable[[str], None]
"""Called with a line for the user."""
AGAIN = "nothing in the ledger is lost, and the same command mirrors it again"


class Mirroring:
    """A thread that reads the ledger and writes MLflow while its context is open.

    Raises MachineError if the URI of the store is invalid, which is an error of the input.
    """

    def __init__(self, places: ResultPaths, declared: str | None) -> None:
        self._places = places
        self._store = TrackingStore.resolve(places.root, declared, os.environ)
        self._over = Event()
        self._thread = Thread(target=self._keep_up, daemon=True)

    def check(self) -> str | None:
        """Check the store for at most five seconds; return a warning if it cannot be written now."""
        try:
            self._store.check()
        except UserError as outage:
            later = "the run goes on, and MLflow is brought up to date at its end or by the same command later"
            return f"{'; '.join(outage.lines)}; {later}"
        return None

    def __enter__(self) -> "Mirroring":
        """Start mirroring."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop after the current MLflow run; a thread that does not end in time is abandoned (daemon)."""
        self._over.set()
        self._thread.join(LONGEST_STOP_SECONDS)

    def finish(self, found: Snapshot, files: Sequence[Path], say: OnLine = lambda _: None) -> str | None:
        """Mirror the final state, with the report's files; return a warning on an outage.

        A mirror ends as late as it has to, as long as it sends runs; `say` then gets a line about its progress.
        """
        return self._finish_within(LONGEST_FINISH_SECONDS, found, files, say)

    def interrupt(self) -> str | None:
        """End the runs of an interrupted session in MLflow; return a warning on timeout or outage.

        A store that is not there yet is not created: a batch queue kills the process soon after its signal.
        """
        if not self._store.exists:
            return None
        try:
            with closing(Ledger.at(self._places.folder)) as ledger:
                found = snapshot(ledger)
        except UserError:  # no ledger yet, or the error itself
            return None
        return self._finish_within(LONGEST_STOP_SECONDS, found, ())

    def _finish_within(
        self, seconds: float, found: Snapshot, files: Sequence[Path], say: OnLine | None = None
    ) -> str | None:
        """Mirror within so many seconds; with `say`, within so many after the last runs that were sent."""
        until = time.monotonic() + seconds
        if self._thread.is_alive():  # it may be creating the database of a first run
            self._thread.join(seconds)
            if self._thread.is_alive():
                return self._unanswered(seconds)
        outages: list[str] = []
        progress = [(0, 0, time.monotonic())]
        stop = Event()
        patience = Patience(stop=stop, sent=lambda sent, of: progress.append((sent, of, time.monotonic())))
        last = Thread(target=self._finish, args=(found, files, patience, outages), daemon=True)
        last.start()
        while last.is_alive() and time.monotonic() < until:
            last.join(min(SECONDS_BETWEEN_REPORTS, max(0.0, until - time.monotonic())))
            sent, of, moment = progress[-1]
            if say is not None and last.is_alive() and sent:
                until = moment + seconds
                say(f"MLflow: {sent} of {of} runs are sent")
        if last.is_alive():
            stop.set()
            return self._unanswered(seconds)
        return f"{outages[0]}; {AGAIN}" if outages else None

    def _finish(self, found: Snapshot, files: Sequence[Path], patience: Patience, outages: list[str]) -> None:
        try:
            mirror(found, self._store, files, patience)
        except TrackingUnavailable as outage:
            outages.append(str(outage))

    def _unanswered(self, seconds: float) -> str:
        return f"{self._store.shown}: the MLflow mirror was not done in {seconds:g} seconds; {AGAIN}"

    def _keep_up(self) -> None:
        patience = Patience(LOCK_SECONDS_BETWEEN, self._over)
        while not self._over.wait(SECONDS_BETWEEN_MIRRORS):
            if not (self._places.folder / LEDGER_NAME).is_file():
                continue
            try:
                with closing(Ledger.at(self._places.folder)) as ledger:
                    mirror(snapshot(ledger).under_way, self._store, patience=patience)
            except (TrackingUnavailable, UserError):
                continue  # reported at the end if it persists
