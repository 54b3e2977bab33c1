"""Keeps MLflow up to date while an experiment runs; an outage is a warning and never stops a trial or a report.

The mirror can be thrown away, so a store that is away, locked or unreadable refuses no run, whatever its kind: it is
left as it is, named in one line at the start and again at the end where that still holds.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

from foundation.errors import UserError
from ledger.database import LEDGER_NAME, Ledger
from ledger.paths import ResultPaths
from ledger.snapshot import Snapshot, snapshot
from runners.tracking import Patience, TrackingStore, TrackingUnavailable, mirror

SECONDS_BETWEEN_MIRRORS = 30.0
LOCK_SECONDS_BETWEEN = 5.0  # while the experiment runs: another mirror follows
LONGEST_STOP_SECONDS = 10.0  # until the mirror of the moment has ended
LONGEST_FINISH_SECONDS = 120.0  # a thousand trials take 80 where none has been sent before
AGAIN = "nothing in the ledger is lost, and the same command mirrors it again"


class Mirroring:
    """A thread of the driver that reads the ledger and writes MLflow, for as long as its context lasts.

    Raises MachineError where the URI of the store names none: a mistake in the input.
    """

    def __init__(self, places: ResultPaths, declared: str | None) -> None:
        self._places = places
        self._store = TrackingStore.resolve(places.root, declared, os.environ)
        self._over = Event()
        self._thread = Thread(target=self._keep_up, daemon=True)

    def check(self) -> str | None:
        """Look at the store for at most five seconds; return a warning where it cannot be written now."""
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
        """Stop after the run that is being sent; what does not end is left behind and dies with the process."""
        self._over.set()
        self._thread.join(LONGEST_STOP_SECONDS)

    def finish(self, found: Snapshot, files: Sequence[Path]) -> str | None:
        """Mirror the end, with the report's files; return a warning where that could not be done in time."""
        if self._thread.is_alive():
            return self._unanswered(LONGEST_STOP_SECONDS)
        outages: list[str] = []
        stop = Event()
        last = Thread(target=self._finish, args=(found, files, Patience(stop=stop), outages), daemon=True)
        last.start()
        last.join(LONGEST_FINISH_SECONDS)
        if last.is_alive():
            stop.set()
            return self._unanswered(LONGEST_FINISH_SECONDS)
        return f"{outages[0]}; {AGAIN}" if outages else None

    def _finish(self, found: Snapshot, files: Sequence[Path], patience: Patience, outages: list[str]) -> None:
        try:
            mirror(found, self._store, files, self._places.folder.name, patience)
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
                    mirror(snapshot(ledger), self._store, origin=self._places.folder.name, patience=patience)
            except (TrackingUnavailable, UserError):
                continue  # told at the end, where it still holds
