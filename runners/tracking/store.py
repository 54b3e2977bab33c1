"""Location of the mirror: MLFLOW_TRACKING_URI, else the experiment's `tracking`, else SQLite under the results.

The SQLite file is created atomically, and never repaired.

MLflow creates a database by about a hundred statements, each committed separately; a kill in between leaves a file
that MLflow can neither open nor complete. The file is therefore created under a temporary name, under a lock, and
renamed: a file with the final name is complete, and reading it needs no lock.
"""

import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from runners.tracking.connectivity import not_reachable, reason_of, redacted
from steeplechase.foundation.atomic_files import move_durably, temporary_name
from steeplechase.foundation.errors import CorruptionError, MachineError, UserError
from steeplechase.foundation.locking import locked
from steeplechase.foundation.names import inside

SQLITE_COMPANIONS = ("", "-journal", "-wal", "-shm")
LONGEST_PLACE = 200
LONGEST_READ_SECONDS = 2.0  # while another client writes
ADVICE = "move it away, the mirror is rebuilt from the ledger"
_MIGRATION_LOCK = threading.Lock()
"""MLflow's migrations keep their connection in a global of the process, which two threads must not share."""


def prepare_database(file: Path, lock_file: Path, patience_seconds: float) -> None:
    """Create the database if it does not exist.

    Raises MachineError if the disk fails or another process holds the lock for longer than `patience_seconds`.
    """
    try:
        if not _exists(file):
            with locked(lock_file, patience_seconds, permissions=0o600):
                if not _exists(file):  # another process may have created it
                    _create(file)
    except UserError:
        raise
    except Exception as error:  # disk full, read-only, or anything in the libraries under MLflow
        raise MachineError(f"{file}: {reason_of(error)}") from error


def check_database(file: Path, is_own: bool) -> None:
    """Check the database, if it exists; `is_own` is whether it lies in the results, and holds mirrors alone.

    A results folder may be a stranger's, and MLflow reads from whatever place or address a row names as that of its
    artifacts; no run of a mirror has any. Raises CorruptionError if it is not an MLflow database or names a place of
    artifacts, MachineError if it cannot be read now.
    """
    if not _exists(file):
        return
    query = (
        "SELECT artifact_uri FROM runs UNION SELECT artifact_location FROM experiments, alembic_version "
        "WHERE experiment_id != 0"  # `Default`, which no study uses
    )
    try:
        with closing(sqlite3.connect(file, timeout=LONGEST_READ_SECONDS)) as connection:
            places = [str(place) for (place,) in connection.execute(query)]
    except sqlite3.DatabaseError as error:
        locked_now = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_CANTOPEN"))
        kind = MachineError if locked_now else CorruptionError
        raise kind(f"{file}: {reason_of(error)}{'' if locked_now else f': no MLflow database; {ADVICE}'}") from error
    for place in places:
        if is_own and not place.startswith(NO_ARTIFACTS):
            shown = redacted(place)[:LONGEST_PLACE]
            raise CorruptionError(f"{file}: keeps artifacts at {shown!a}, and a mirror has none; {ADVICE}")


def _exists(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _create(file: Path) -> None:
    from runners.tracking.mlflow_client import make_database

    unfinished = temporary_name(file)
    for companion in SQLITE_COMPANIONS:
        Path(f"{unfinished}{companion}").unlink(missing_ok=True)
    with _MIGRATION_LOCK:
        make_database(f"sqlite:///{unfinished}", NO_ARTIFACTS)
    move_durably(unfinished, file)


URI_VARIABLE = "MLFLOW_TRACKING_URI"
DATABASE_NAME = "mlflow.db"
NO_ARTIFACTS = "mlflow-artifacts:/"
"""Where runs would keep artifacts, of which a mirror has none: the server's own folder, wherever the store lies."""
SQLITE_PREFIX = "sqlite:///"
SERVER_SCHEMES = ("http", "https")
DATABASE_SCHEMES = ("postgresql", "mysql", "mssql")  # optionally with a driver: postgresql+psycopg2


@dataclass(frozen=True)
class TrackingStore:
    """An MLflow tracking store, opened by `check` and created by the first mirror."""

    uri: str
    results_root: Path
    source: str
    """Origin of the URI, for messages."""

    @classmethod
    def resolve(cls, results_root: Path, declared: str | None, environment: Mapping[str, str]) -> "TrackingStore":
        """Return the store to use. Raises MachineError if MLflow cannot write to such a URI."""
        named = [(URI_VARIABLE, environment.get(URI_VARIABLE)), ("tracking", declared)]
        default = f"{SQLITE_PREFIX}{results_root.resolve() / DATABASE_NAME}"
        source, uri = next(((source, uri) for source, uri in named if uri), ("the default", default))
        store = cls(uri, results_root.resolve(), source)
        store._refuse_unknown()
        return store

    @property
    def shown(self) -> str:
        """The URI without credentials, for messages."""
        return redacted(self.uri)

    @property
    def database_file(self) -> Path | None:
        """The SQLite file, None if the store is a server or another database."""
        return Path(self.uri.removeprefix(SQLITE_PREFIX)) if self.uri.startswith(SQLITE_PREFIX) else None

    @property
    def served(self) -> bool:
        """Whether the store is a tracking server, which also stores the artifacts."""
        return _scheme(self.uri) in SERVER_SCHEMES

    @property
    def exists(self) -> bool:
        """Whether there is something to write to: a server, another database, or the SQLite file."""
        return self.database_file is None or self.database_file.is_file()

    @property
    def artifacts(self) -> str | None:
        """Place of the artifacts; None if a server chooses it."""
        return None if self.served else NO_ARTIFACTS

    @property
    def lock_file(self) -> Path:
        """Lock file of the processes that write the store."""
        file = self.database_file
        return file.with_name(f"{file.name}.lock") if file else self.results_root / "tracking.lock"

    def check(self) -> None:
        """Check within five seconds that the store can be written, without creating anything.

        Raises MachineError if it does not respond or a path is a symbolic link, CorruptionError if a file is not an
        MLflow database.
        """
        file = self.database_file
        if file is None:
            if reason := not_reachable(self.uri):
                raise MachineError(f"{self.source}: {self.shown}: {reason}")
        else:
            for name in (f"{file.name}{companion}" for companion in SQLITE_COMPANIONS):
                inside(file.parent, name)
            check_database(file, is_own=self.results_root in file.resolve().parents)

    def prepare(self, patience_seconds: float) -> None:
        """Check the store and create its database; MLflow alone may wait minutes, or leave a damaged file if killed.

        Raises what `check` raises, and MachineError if another process holds the file for longer than
        `patience_seconds`.
        """
        self.check()
        if file := self.database_file:
            prepare_database(file, self.lock_file, patience_seconds)

    def _refuse_unknown(self) -> None:
        scheme = _scheme(self.uri)
        if scheme in (*SERVER_SCHEMES, *DATABASE_SCHEMES) and urlsplit(self.uri).hostname:
            return
        file = self.database_file
        if file and file.name and not set(str(file)) & set("?:"):
            return
        forms = "sqlite:///FILE, http(s)://HOST, postgresql://…, mysql://… or mssql://…"
        raise MachineError(f"{self.source}: {self.shown!r} is not a tracking store. Allowed: {forms}")


def _scheme(uri: str) -> str:
    return uri.partition("://")[0].partition("+")[0].lower()
