"""Synchronises MLflow with the ledger: every run exactly once, also after interruptions."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from foundation.atomic_files import sha256_of
from foundation.locking import locked
from ledger.snapshot import Snapshot
from runners.tracking.errors import TrackingUnavailable, reason_of
from runners.tracking.mirrored_run import (
    CHANGED_TAG,
    EXPERIMENT_TAG,
    IDENTITY_TAG,
    OUTDATED_TAG,
    PARENT_TAG,
    SCORE_TAG,
    STUDY_TAG,
    SYNCED_TAG,
    MirroredRun,
    RunStatus,
)
from runners.tracking.runs import projected, study_identity, study_name
from runners.tracking.saved_views import saved_views
from runners.tracking.store import TrackingStore

if TYPE_CHECKING:
    from runners.tracking.mlflow_client import KnownExperiment, KnownRun, TrackingClient

TRANSIENT_TAGS = ("stop_reason", "non_finite", SCORE_TAG, OUTDATED_TAG)  # dropped when a run or a trial is resumed
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # else the page asks for the type


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


def mirror(
    snapshot: Snapshot,
    store: TrackingStore,
    artifacts: Sequence[Path] = (),
    origin: str = "",
    patience: Patience | None = None,
) -> SyncSummary:
    """Write the snapshot to MLflow; idempotent.

    `artifacts` are files for the study's own run. `origin` names the ledger where several studies of one
    experiment and scale share a store; only its hash is sent. Raises TrackingUnavailable for every failure.
    """
    patience = patience or Patience()
    with _outages_as_errors(store):
        store.prepare(patience.lock_seconds)
        from runners.tracking.mlflow_client import TrackingClient

        with locked(store.lock_file, patience.lock_seconds, permissions=0o600):
            client = TrackingClient(store.uri)
            name = study_name(snapshot.experiment, snapshot.scale)
            folder = store.artifacts_of(name)
            experiment = client.experiment(name, folder and str(folder), EXPERIMENT_TAGS)
            existing_runs = client.runs(experiment.identifier, study_identity(snapshot, origin))
            return _Mirror(client, experiment, existing_runs, patience.stop).apply(
                projected(snapshot, origin, artifacts)
            )


@contextmanager
def _outages_as_errors(store: TrackingStore) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise TrackingUnavailable(
            f"{store.shown}: the MLflow mirror is not up to date: {reason_of(error)}"
        ) from error


@dataclass(frozen=True)
class _Mirror:
    client: "TrackingClient"
    experiment: "KnownExperiment"
    known: dict[str, "KnownRun"]
    stop: Event

    def apply(self, runs: Sequence[MirroredRun]) -> SyncSummary:
        before = dict(self.known)
        updated = 0
        for run in runs:
            hashes = {file.name: sha256_of(file) for file in run.files}
            content = run.content(hashes)
            existing = self.known.get(run.identity)
            if existing is None or existing.synced != content:
                if self.stop.is_set():
                    raise InterruptedError("stopped before everything was sent")
                self._send(run, existing, content)
                updated += existing is not None
        self._close_orphans({run.identity for run in runs})
        created = sum(run.identity not in before for run in runs)
        tags = saved_views(runs) | {EXPERIMENT_TAG: runs[0].tags["experiment"]}
        if created or updated:
            tags[CHANGED_TAG] = str(time.time_ns() // 1_000_000)
        for key, text in tags.items():
            if self.experiment.tags.get(key) != text:
                self.client.tag_experiment(self.experiment, key, text)
        return SyncSummary(created, updated, len(runs) - created - updated)

    def _send(self, run: MirroredRun, existing: "KnownRun | None", content: str) -> None:
        if existing is None:
            existing = self._create(run)
        elif existing.synced:
            self.client.tag(existing, SYNCED_TAG, "")  # empty until everything is sent
        absent = {key: value for key, value in run.parameters.items() if key not in existing.parameters}
        self.client.log(existing, run.points, absent, {**run.tags, **_outdated(run.parameters, existing.parameters)})
        for tag in TRANSIENT_TAGS:
            if tag in existing.tags and tag not in run.tags:
                self.client.remove_tag(existing, tag)
        self.client.attach(existing, run.files, run.texts)
        self.client.set_status(existing, run.status, run.compute_milliseconds)
        self.client.tag(existing, SYNCED_TAG, content)

    def _create(self, run: MirroredRun) -> "KnownRun":
        """Create the run. Later rows start slightly earlier, because MLflow's page shows the newest first."""
        tags = {name: run.tags[name] for name in (IDENTITY_TAG, STUDY_TAG)}
        if run.parent is None:
            started = time.time_ns() // 1_000_000
        else:
            tags[PARENT_TAG] = self.known[run.parent].run_id
            study = self.known[run.tags[STUDY_TAG]]
            started = study.started - run.order
        self.known[run.identity] = self.client.create(self.experiment.identifier, run.name, started, tags)
        return self.known[run.identity]

    def _close_orphans(self, identities: set[str]) -> None:
        """End runs that are not in the ledger (its folder was emptied), which would look active forever."""
        for identity, run in self.known.items():
            if identity not in identities and not run.status.ended:
                self.client.set_status(run, RunStatus.KILLED, 0)


def _outdated(planned: Mapping[str, str], sent: Mapping[str, str]) -> dict[str, str]:
    """Return a tag with the changed parameters, because MLflow's parameters are write-once."""
    changed = {key: value for key, value in planned.items() if key in sent and sent[key] != value}
    changes = "; ".join(f"{key}: {value}" for key, value in sorted(changed.items()))
    return {OUTDATED_TAG: changes[:1000]} if changed else {}
