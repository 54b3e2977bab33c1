"""Synchronises MLflow with the ledger: every run exactly once, also after interruptions."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from runners.tracking.connectivity import TrackingUnavailable, reason_of
from runners.tracking.mirrored_run import (
    CHANGED_TAG,
    EXPERIMENT_TAG,
    HIDDEN_PREFIX,
    IDENTITY_TAG,
    LEVEL_TAG,
    NAME_TAG,
    STUDY_TAG,
    SYNCED_TAG,
    TRANSIENT_TAGS,
    KnownRun,
    MirroredRun,
    RunStatus,
    latest_values,
    totals,
)
from runners.tracking.runs import projected, study_identity, study_name
from runners.tracking.saved_views import saved_views
from runners.tracking.store import TrackingStore
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.locking import locked
from steeplechase.ledger.snapshot import Snapshot

if TYPE_CHECKING:
    from runners.tracking.mlflow_client import KnownExperiment, TrackingClient
    from runners.tracking.mlflow_tables import RunTables

RUNS_AT_A_TIME = 200
"""Of a SQLite file, in one transaction."""
FILE_SCHEME = "file://"
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
    """Set to stop after the current runs."""
    sent: Callable[[int, int], None] = lambda sent, of: None
    """Called with the number of runs that were sent, and of all that are to be sent."""


def mirror(
    snapshot: Snapshot,
    store: TrackingStore,
    artifacts: Sequence[Path] = (),
    patience: Patience | None = None,
) -> SyncSummary:
    """Write the snapshot to MLflow; idempotent.

    What somebody has changed in MLflow is mended, and what others have added is kept; of a server the earlier points
    of a curve and the artifacts are believed. `artifacts` are files for the study's own run. Raises
    TrackingUnavailable for every failure.
    """
    patience = patience or Patience()
    with _outages_as_errors(store):
        store.prepare(patience.lock_seconds)
        from runners.tracking.mlflow_client import TrackingClient
        from runners.tracking.mlflow_tables import RunTables

        with locked(store.lock_file, patience.lock_seconds, permissions=0o600):
            client = TrackingClient(store.uri)
            tables = RunTables(store.uri) if store.database_file else None
            name = study_name(snapshot.experiment, snapshot.scale)
            folder = store.artifacts_of(name)
            experiment = client.experiment(name, None if folder is None else str(folder), EXPERIMENT_TAGS)
            known = (tables or client).runs(experiment.identifier, study_identity(snapshot))
            return _Mirror(client, tables, experiment, known, patience).apply(projected(snapshot, artifacts))


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
    tables: "RunTables | None"
    """Of a SQLite file, which takes many runs at a time."""
    experiment: "KnownExperiment"
    known: dict[str, "KnownRun"]
    patience: Patience

    def apply(self, runs: Sequence[MirroredRun]) -> SyncSummary:
        before, now = dict(self.known), time.time_ns() // 1_000_000
        changed = [(run, content) for run, content in self._contents(runs) if not self._holds(run, content)]
        size = 1 if self.tables is None else RUNS_AT_A_TIME
        for start in range(0, len(changed), size):
            if self.patience.stop.is_set():
                raise InterruptedError("stopped before everything was sent")
            self._send(changed[start : start + size], now)
            self.patience.sent(min(start + size, len(changed)), len(changed))
        self._hide_orphans({run.identity for run in runs})
        created = sum(run.identity not in before for run in runs)
        names = {EXPERIMENT_TAG: runs[0].tags["experiment"], NAME_TAG: runs[0].name}
        tags = saved_views(runs) | names
        if changed:
            tags[CHANGED_TAG] = str(time.time_ns() // 1_000_000)
        for key, text in tags.items():
            if self.experiment.tags.get(key) != text:
                self.client.tag_experiment(self.experiment, key, text)
        return SyncSummary(created, len(changed) - created, len(runs) - len(changed))

    def _contents(self, runs: Sequence[MirroredRun]) -> Iterator[tuple[MirroredRun, str]]:
        for run in runs:
            yield run, run.content({file.name: sha256_of(file) for file in run.files})

    def _holds(self, run: MirroredRun, content: str) -> bool:
        known, parent = self.known.get(run.identity), self._parent(run)
        if known is None or (parent is None and run.parent is not None):  # somebody may have deleted the parent
            return False
        if self.tables is not None and known.stale(run):  # a server keeps every metric
            return False
        numbers = latest_values if self.tables is None else totals
        return known.holds(run, parent, content, numbers) and has_artifacts(known.artifacts, run)

    def _parent(self, run: MirroredRun) -> "KnownRun | None":
        """Return the run's parent; None for the study, and until the parent is sent."""
        return None if run.parent is None else self.known.get(run.parent)

    def _send(self, runs: Sequence[tuple[MirroredRun, str]], now: int) -> None:
        """Write runs, parents first; of a server each is marked as complete when all of it is there."""
        written = []
        for run, content in runs:
            known = self.known.get(run.identity) or self._new(run, now)
            self.known[run.identity] = known
            tags = {**run.tags_under(self._parent(run)), **({} if self.tables else known.outdated(run))}
            written.append((known, run, {**tags, SYNCED_TAG: content}))
        if self.tables is not None:
            self.tables.write(self.experiment.identifier, written)
        for known, run, tags in written:
            if self.tables is None:
                if known.synced:
                    self.client.tag(known, SYNCED_TAG, "")  # empty until everything is sent
                changed = {tag: text for tag, text in tags.items() if known.tags.get(tag) != text}
                self.client.send(known, run, {tag: text for tag, text in changed.items() if tag != SYNCED_TAG})
                for tag in TRANSIENT_TAGS:
                    if tag in known.tags and tag not in tags:
                        self.client.remove_tag(known, tag)
            self.client.attach(known, run.files, run.texts)
            if self.tables is None:
                self.client.tag(known, SYNCED_TAG, tags[SYNCED_TAG])

    def _new(self, run: MirroredRun, now: int) -> "KnownRun":
        """Return a run to create. Later rows start slightly earlier: MLflow's page shows the newest first."""
        study = self.known.get(run.tags[STUDY_TAG])
        started = now if study is None else study.started - run.order
        if self.tables is None:
            tags = {IDENTITY_TAG: run.identity, **run.tags_under(self._parent(run))}
            return self.client.create(self.experiment.identifier, run, started, tags)
        name = uuid.uuid4().hex
        place = f"{self.experiment.artifacts}/{name}/artifacts"
        return KnownRun(name, run.name, started, None, run.status, {}, {}, {}, place)

    def _hide_orphans(self, identities: set[str]) -> None:
        """Take runs that the study has no more, as of an arm that is left out, off its pages; end open ones."""
        for identity, run in self.known.items():
            if identity in identities:
                continue
            level = run.tags.get(LEVEL_TAG, "")
            if not level.startswith(HIDDEN_PREFIX):
                self.client.tag(run, LEVEL_TAG, f"{HIDDEN_PREFIX}{level}")
            if not run.status.ended:
                self.client.set_status(run, RunStatus.KILLED, 0)


def has_artifacts(place: str, run: MirroredRun) -> bool:
    """Return whether a folder of artifacts has the files and texts of a run; on a server that is not known."""
    if "://" in place and not place.startswith(FILE_SCHEME):
        return True
    folder = Path(place.removeprefix(FILE_SCHEME))
    files = {**{file.name: file.read_bytes() for file in run.files}, **{n: t.encode() for n, t in run.texts.items()}}
    try:
        return all((folder / name).read_bytes() == content for name, content in files.items())
    except OSError:
        return False
