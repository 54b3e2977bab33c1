"""Location of the mirror: MLFLOW_TRACKING_URI, else the experiment's `tracking`, else SQLite under the results."""

import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from runners.tracking.connectivity import not_reachable
from runners.tracking.database import (
    SQLITE_COMPANIONS,
    check_database,
    follow_move,
    prepare_database,
    refuse_places_outside,
)
from runners.tracking.errors import redacted
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.names import inside, refuse_links

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

        Raises CorruptionError if one in the results names a place outside them.
        """
        if (file := self.database_file) and file.is_file():
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
