"""The mirror's SQLite file: created atomically, never repaired.

MLflow creates a database by about a hundred statements, each committed separately; a kill in between leaves a file
that MLflow can neither open nor complete. The file is therefore created under a temporary name, under a lock, and
renamed: a file with the final name is complete, and reading it needs no lock.
"""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from runners.tracking.errors import reason_of, redacted
from steeplechase.foundation.atomic_files import move_durably, temporary_name
from steeplechase.foundation.errors import CorruptionError, MachineError, UserError
from steeplechase.foundation.locking import locked

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


def _reject_foreign_database(file: Path) -> None:
    advice = "move it away, the mirror is rebuilt from the ledger"
    try:
        with closing(sqlite3.connect(file, timeout=LONGEST_READ_SECONDS)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            complete = tables.issuperset(MIRROR_TABLES)
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
