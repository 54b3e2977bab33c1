"""Synchronises MLflow with the ledger: every run exactly once, also after interruptions."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from runners.tracking.connectivity import TrackingUnavailable, reason_of
from runners.tracking.mirrored_run import (
    IDENTITY_TAG,
    PARENT_TAG,
    STOP_REASON,
    SYNCED_TAG,
    KnownRun,
    MirroredRun,
    RunStatus,
)
from runners.tracking.runs import projected, study_identity, study_name
from runners.tracking.store import TrackingStore
from steeplechase.foundation.locking import locked
from steeplechase.ledger.snapshot import Snapshot

if TYPE_CHECKING:
    from runners.tracking.mlflow_client import TrackingClient


@dataclass(frozen=True)
class SyncSummary:
    """Numbers of created, changed and unchanged runs."""

    created: int
    updated: int
    unchanged: int


@dataclass(frozen=True)
class Patience:
    """Limits of one synchronisation; the next one continues an incomplete one."""

    lock_seconds: float = 30.0
    """For another process that writes the same store."""
    stop: Event = field(default_factory=Event)
    """Set to stop after the current run."""
    sent: Callable[[int, int], None] = lambda sent, of: None
    """Called with the number of runs that were sent, and of all that are looked at."""


def mirror(snapshot: Snapshot, store: TrackingStore, patience: Patience | None = None) -> SyncSummary:
    """Write the snapshot to MLflow; idempotent. Raises TrackingUnavailable for every failure.

    A run that has the fingerprint of its content is believed; what others have added to it is kept.
    """
    patience = patience or Patience()
    try:
        store.prepare(patience.lock_seconds)
        from runners.tracking.mlflow_client import TrackingClient

        with locked(store.lock_file, patience.lock_seconds, permissions=0o600):
            client = TrackingClient(store.uri)
            experiment = client.experiment(study_name(snapshot.experiment, snapshot.scale), store.artifacts)
            known = client.runs(experiment, study_identity(snapshot))
            return _Mirror(client, experiment, known, patience).apply(projected(snapshot))
    except Exception as error:
        raise TrackingUnavailable(
            f"{store.shown}: the MLflow mirror is not up to date: {reason_of(error)}"
        ) from error


@dataclass(frozen=True)
class _Mirror:
    client: "TrackingClient"
    experiment: str
    known: dict[str, KnownRun]
    """By identity; parents are sent before their children."""
    patience: Patience

    def apply(self, runs: Sequence[MirroredRun]) -> SyncSummary:
        created = updated = 0
        now = time.time_ns() // 1_000_000
        for number, run in enumerate(runs):
            if self.patience.stop.is_set():
                raise InterruptedError("stopped before everything was sent")
            parent = self.known[run.parent].run_id if run.parent else None
            content, known = run.content(parent), self.known.get(run.identity)
            if known is not None and known.tags.get(SYNCED_TAG) == content:
                continue
            if known is not None and known.contradicts(run):
                self.client.delete(known)
                known = None
            created, updated = created + (known is None), updated + (known is not None)
            tags = {**run.tags, **({PARENT_TAG: parent} if parent else {})}
            if known is None:  # MLflow's page shows the newest first: later rows of the table start slightly earlier
                known = self.client.create(self.experiment, run, now - number, {IDENTITY_TAG: run.identity, **tags})
            self.known[run.identity] = known
            former = {STOP_REASON: ""} if STOP_REASON in known.tags else {}
            self.client.send(known, run, {**former, **tags, SYNCED_TAG: content})
            self.patience.sent(number + 1, len(runs))
        self._close_orphans({run.identity for run in runs})
        return SyncSummary(created, updated, len(runs) - created - updated)

    def _close_orphans(self, identities: set[str]) -> None:
        """End runs that are not in the ledger (its folder was emptied), which would look active forever."""
        for identity, run in self.known.items():
            if identity not in identities and not run.status.ended:
                self.client.set_status(run, RunStatus.KILLED, 0)
