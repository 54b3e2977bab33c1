"""Keeps MLflow up to date while an experiment runs; an outage is a warning and never stops a trial."""

import os
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from runners.evidence.standing import Snapshot, snapshot
from runners.kept.ledger import LEDGER_NAME, Ledger
from runners.kept.places import Places
from runners.tracking import TrackingStore, TrackingUnavailable, mirror
from search_space.refusals import Refusal

SECONDS_BETWEEN_MIRRORS = 30.0


class Mirroring:
    """A thread of the driver that reads the ledger and writes MLflow, for as long as its context lasts."""

    def __init__(self, places: Places, declared: str | None) -> None:
        self._places = places
        self._store = TrackingStore.resolve(places.root, declared, os.environ)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_up, daemon=True)

    def check(self) -> None:
        """Look at the store before anything runs. Raises EnvironmentRefused within five seconds, or Corruption."""
        if self._store.served:
            self._store.check()
        elif self._store.database_file is not None and self._store.database_file.exists():
            self._store.prepare()  # a damaged database is told now, not after the training

    def __enter__(self) -> "Mirroring":
        """Start mirroring."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop after the mirror that is being made."""
        self._over.set()
        self._thread.join()

    def finish(self, found: Snapshot, files: Sequence[Path]) -> str | None:
        """Mirror the end, with the report's files; return a warning where that could not be done."""
        try:
            mirror(found, self._store, files, origin=self._places.folder.name)
        except TrackingUnavailable as outage:
            return f"{outage}; the same command mirrors it again"
        return None

    def _keep_up(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_MIRRORS):
            if not (self._places.folder / LEDGER_NAME).is_file():
                continue
            try:
                with closing(Ledger.at(self._places.folder)) as ledger:
                    mirror(snapshot(ledger), self._store, origin=self._places.folder.name)
            except (TrackingUnavailable, Refusal):
                continue  # told at the end, where it still holds
