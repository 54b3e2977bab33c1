"""Location of the mirror: MLFLOW_TRACKING_URI, else the experiment's `tracking`, else SQLite under the results.

The SQLite file is created atomically, and never repaired.

MLflow creates a database by about a hundred statements, each committed separately; a kill in between leaves a file
that MLflow can neither open nor complete. The file is therefore created under a temporary name, under a lock, and
renamed: a file with the final name is complete, and reading it needs no lock.
"""

import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from runners.tracking.connectivity import not_reachable, reason_of, redacted
from steeplechase.foundation.atomic_files import move_durably, temporary_name
from steeplechase.foundation.errors import CorruptionError, MachineError, UserError
from steeplechase.foundation.locking import locked
from steeplechase.foundation.names import inside, refuse_links

MIRROR_TABLES = {
    "alembic_version",
    "experiments",
    "experiment_tags",
    "runs",
    "metrics",
    "latest_metrics",
    "params",
    "tags",
}
SQLITE_COMPANIONS = ("", "-journal", "-wal", "-shm")
LONGEST_PLACE = 200
LONGEST_READ_SECONDS = 2.0  # while another client writes
_MIGRATION_LOCK = threading.Lock()
"""MLflow's migrations keep their connection in a global of the process, which two threads must not share."""


def prepare_database(file: Path, lock_file: Path, artifacts: Path, patience_seconds: float) -> None:
    """Create the database if it does not exist, else check it.

    Raises CorruptionError if the file is not an MLflow database, MachineError if the disk fails or another process
    holds the lock for longer than `patience_seconds`.
    """
    try:
        if not _exists(file):
            with locked(lock_file, patience_seconds, permissions=0o600):
                if not _exists(file):  # another process may have created it
                    _create(file, artifacts)
    except UserError:
        raise
    except Exception as error:  # disk full, read-only, or anything in the libraries under MLflow
        raise MachineError(f"{file}: {reason_of(error)}") from error
    check_database(file)
    follow_move(file, artifacts)


def follow_move(file: Path, artifacts: Path) -> None:
    """Let a store that was moved or copied name the folder of artifacts beside it, in place of the former one.

    MLflow keeps absolute places and has no call that changes them. An experiment follows if its artifacts lie in a
    folder of the same name that is gone, or are here too; other places are left. Raises sqlite3.Error.
    """
    with closing(sqlite3.connect(file, timeout=LONGEST_READ_SECONDS)) as connection:
        known = connection.execute("SELECT experiment_id, artifact_location FROM experiments").fetchall()
        for experiment, place in known:
            former = Path(str(place).removeprefix("file://"))
            here = artifacts / former.name
            if not former.is_absolute() or former.parent.name != artifacts.name or here == former:
                continue
            if here.is_dir() or not former.is_dir():
                moved = "UPDATE runs SET artifact_uri = ? || substr(artifact_uri, ?) WHERE experiment_id = ? AND "
                begins = f"{place}/"
                values = (f"{here}/", len(begins) + 1, experiment, len(begins), begins)
                with connection:
                    connection.execute(f"{moved} substr(artifact_uri, 1, ?) = ?", values)
                    located = "UPDATE experiments SET artifact_location = ? WHERE experiment_id = ?"
                    connection.execute(located, (str(here), experiment))


def refuse_places_outside(file: Path, artifacts: Path) -> None:
    """Raise CorruptionError where a database names a place of artifacts that is not below the folder beside it.

    A results folder may be a stranger's, and MLflow writes to, and reads from, whatever place or address a row names.
    The experiment `Default`, which no study uses, may name any. Raises sqlite3.Error.
    """
    query = "SELECT artifact_uri FROM runs UNION SELECT artifact_location FROM experiments WHERE experiment_id != 0"
    with closing(sqlite3.connect(file, timeout=LONGEST_READ_SECONDS)) as connection:
        for (place,) in connection.execute(query):
            text = str(place).removeprefix("file://")
            for path in (Path(text), Path(unquote(text))):  # MLflow reads %2e as a dot
                if not path.is_absolute() or ".." in path.parts or artifacts not in path.parents:
                    shown = redacted(str(place))[:LONGEST_PLACE]
                    raise CorruptionError(
                        f"{file}: keeps artifacts at {shown!a}, outside {artifacts}; nothing is sent there. "
                        "Move the file away, the mirror is rebuilt from the ledger"
                    )


def check_database(file: Path) -> None:
    """Check the database, if it exists.

    Raises CorruptionError if it is not a complete MLflow database, MachineError if it cannot be read now.
    """
    try:
        if _exists(file):
            _reject_foreign_database(file)
    except sqlite3.OperationalError as error:  # locked, or a folder: the file itself is not damaged
        raise MachineError(f"{file}: {reason_of(error)}") from error


def _exists(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _create(file: Path, artifacts: Path) -> None:
    from runners.tracking.mlflow_client import make_database

    unfinished = temporary_name(file)
    for companion in SQLITE_COMPANIONS:
        Path(f"{unfinished}{companion}").unlink(missing_ok=True)
    with _MIGRATION_LOCK:
        make_database(f"sqlite:///{unfinished}", str(artifacts))
    move_durably(unfinished, file)


PROGRAMS = """SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'
    OR type NOT IN ('table', 'index', 'trigger') OR (type = 'trigger' AND tbl_name != 'secrets')"""
"""What SQLite runs where a table is read or written; MLflow has one, on a table without rows of the mirror.

A type in other letters than SQLite's own is a program all the same.
"""


def _reject_foreign_database(file: Path) -> None:
    advice = "move it away, the mirror is rebuilt from the ledger"
    try:
        with closing(sqlite3.connect(file, timeout=LONGEST_READ_SECONDS)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            programs = connection.execute(PROGRAMS).fetchall()
            complete = tables.issuperset(MIRROR_TABLES) and not programs
            versions = (
                [name for (name,) in connection.execute("SELECT version_num FROM alembic_version")]
                if complete
                else []
            )
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise CorruptionError(f"{file}: not a complete MLflow database ({reason_of(error)}); {advice}") from error
    if not complete:
        raise CorruptionError(f"{file}: not a complete MLflow database; {advice}")
    from runners.tracking.mlflow_client import schema_version

    if versions != [schema_version()]:
        schema = f"schema {', '.join(versions) or 'none'}, this MLflow reads {schema_version()}"
        raise CorruptionError(f"{file}: incomplete, or created by another MLflow ({schema}); {advice}")


URI_VARIABLE = "MLFLOW_TRACKING_URI"
DATABASE_NAME = "mlflow.db"
ARTIFACTS_NAME = "artifacts"
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
    def artifacts(self) -> Path:
        """Folder of the artifacts, if the store is not a server."""
        return self.results_root / ARTIFACTS_NAME

    @property
    def lock_file(self) -> Path:
        """Lock file of the processes that write the store."""
        file = self.database_file
        return file.with_name(f"{file.name}.lock") if file else self.results_root / "tracking.lock"

    def check(self) -> None:
        """Check within five seconds that the store can be written, without creating anything.

        Raises MachineError if it does not respond, a driver is missing or a path is a symbolic link, CorruptionError
        if a file is not an MLflow database.
        """
        file = self.database_file
        if file is None:
            if reason := not_reachable(self.uri, self.served):
                raise MachineError(f"{self.source}: {self.shown}: {reason}")
        else:
            for name in (f"{file.name}{companion}" for companion in SQLITE_COMPANIONS):
                inside(file.parent, name)
            inside(self.results_root, ARTIFACTS_NAME)
            check_database(file)

    def artifacts_of(self, name: str) -> Path | None:
        """Return the folder of an experiment's artifacts; None if a server stores them.

        Raises MachineError if there is a symbolic link in it, through which MLflow would write.
        """
        if self.served:
            return None
        folder = inside(self.artifacts, name)
        refuse_links(folder)
        return folder

    def prepare(self, patience_seconds: float) -> None:
        """Check the store and create its database; MLflow alone may wait minutes, or leave a damaged file if killed.

        Raises what `check` raises, and MachineError if another process holds the file for longer than
        `patience_seconds`.
        """
        self.check()
        if file := self.database_file:
            prepare_database(file, self.lock_file, self.artifacts, patience_seconds)
            self._refuse_places_outside(file)

    def follow_move(self) -> None:
        """Let a SQLite store that was moved name its artifacts where they are now, if it can be written.

        Raises what `check` raises, and CorruptionError if one in the results names a place outside them.
        """
        if (file := self.database_file) and file.is_file():
            self.check()
            with suppress(sqlite3.Error):  # the next mirror tries again
                follow_move(file, self.artifacts)
            with suppress(sqlite3.Error):
                self._refuse_places_outside(file)

    def _refuse_places_outside(self, file: Path) -> None:
        """Raise CorruptionError if a store in the results, which may be a stranger's, names a place outside them."""
        if self.results_root in file.resolve().parents:
            refuse_places_outside(file, self.artifacts)

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
