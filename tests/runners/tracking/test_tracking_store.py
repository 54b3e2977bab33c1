"""Choice and check of the tracking store, within five seconds for any fault."""

import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from runners.tracking import Patience, TrackingStore, TrackingUnavailable, mirror
from runners.tracking.connectivity import redacted
from runners.tracking.store import refuse_places_outside
from steeplechase.foundation.errors import CorruptionError, MachineError
from tests.factories.durations import ends_within
from tests.factories.tracked_study import study


@pytest.mark.parametrize("name", ["artifacts", "mlflow.db", "mlflow.db-wal", "artifacts/table2-laptop/run/report.md"])
def test_nothing_is_mirrored_through_a_symbolic_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "results" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TrackingUnavailable, match="a symbolic link is on this path"):
        mirror(study(), TrackingStore.resolve(tmp_path / "results", None, {}))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    ("place", "is_inside"),
    [
        ("{}/artifacts/table2-laptop/run/artifacts", True),
        ("file://{}/artifacts/table2-laptop/run", True),
        ("{}/elsewhere", False),
        ("{}/artifacts/../elsewhere", False),
        ("file://{}/artifacts/%2e%2e/elsewhere", False),
        ("artifacts/run", False),
        ("s3://user:word@bucket/run", False),
        ("http://127.0.0.1:7/x", False),
    ],
)
@pytest.mark.parametrize("table", ["runs", "experiments"])
def test_artifacts_that_a_database_names_outside_the_results_are_refused(
    tmp_path: Path, place: str, is_inside: bool, table: str
) -> None:
    place, file = place.format(tmp_path), tmp_path / "mlflow.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE runs (artifact_uri TEXT)")
        database.execute("CREATE TABLE experiments (experiment_id INTEGER, artifact_location TEXT)")
        database.execute(f"INSERT INTO {table} VALUES ({'1, ' * (table == 'experiments')}?)", (place,))
    if is_inside:
        refuse_places_outside(file, tmp_path / "artifacts")
        return
    with pytest.raises(CorruptionError, match="keeps artifacts at") as refused:
        refuse_places_outside(file, tmp_path / "artifacts")
    assert "word" not in str(refused.value)


def test_the_variable_overrides_the_experiment_which_overrides_the_default(tmp_path: Path) -> None:
    variable, declared = {"MLFLOW_TRACKING_URI": "http://a"}, "http://b"
    assert TrackingStore.resolve(tmp_path, declared, variable).uri == "http://a"
    assert TrackingStore.resolve(tmp_path, declared, {}).uri == "http://b"
    assert TrackingStore.resolve(tmp_path, None, {}).uri == f"sqlite:///{tmp_path}/mlflow.db"


@pytest.mark.parametrize(
    "uri", ["mlruns", "file:///mlruns", "sqlite://", "sqlite:///:memory:", "http://", "databricks"]
)
def test_an_invalid_store_is_refused_before_anything_runs(uri: str, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"tracking: .* is not a tracking store\. Allowed: sqlite:///FILE"):
        TrackingStore.resolve(tmp_path, uri, {})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no http://user:pa@ss/word@host/x today", "no http://***@host/x today"),
        (
            "postgresql+psycopg2://u:p@h:5432/db?password=s&a=b",
            "postgresql+psycopg2://***@h:5432/db?password=***&a=b",
        ),
        ("http://h/x?token=abc&a=b", "http://h/x?token=***&a=b"),
        ("sqlite:////results/mlflow.db", "sqlite:////results/mlflow.db"),
    ],
)
def test_credentials_are_never_shown(text: str, shown: str) -> None:
    assert redacted(text) == shown


def test_an_incomplete_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    database = tmp_path / "mlflow.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE experiments (experiment_id INTEGER)")
    content = database.read_bytes()
    store = TrackingStore.resolve(tmp_path, None, {})
    with pytest.raises(CorruptionError, match="move it away, the mirror is rebuilt from the ledger"):
        store.check()
    with pytest.raises(TrackingUnavailable, match="move it away"):
        mirror(study(1), store)
    assert database.read_bytes() == content


PROGRAM = "CREATE TRIGGER later AFTER INSERT ON runs BEGIN DELETE FROM metrics; END"


@pytest.mark.parametrize(
    "program",
    [
        PROGRAM,
        f"{PROGRAM}; PRAGMA writable_schema=ON; UPDATE sqlite_master SET type = 'Trigger' WHERE name = 'later'",
        "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE VIRTUAL TABLE more USING fts5(x)",
    ],
    ids=["trigger", "trigger in other letters", "view", "virtual table"],
)
def test_a_program_in_a_database_is_refused_and_not_run(mirrored_results: Path, program: str, tmp_path: Path) -> None:
    database = Path(shutil.copyfile(mirrored_results / "mlflow.db", tmp_path / "mlflow.db"))
    TrackingStore.resolve(tmp_path, None, {}).check()
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(program)
    content = database.read_bytes()
    with pytest.raises(TrackingUnavailable, match="move it away, the mirror is rebuilt from the ledger"):
        mirror(study(2), TrackingStore.resolve(tmp_path, None, {}))
    assert database.read_bytes() == content


HOLD = (
    "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); "
    "print(flush=True); time.sleep(60)"
)


class _Answering(BaseHTTPRequestHandler):
    """A server that is not MLflow, in one of several ways; its health check always succeeds."""

    mode = ""
    over = Event()

    def do_GET(self) -> None:
        if self.mode == "hangs" and self.path != "/health":
            self.over.wait(60)
        self.send_response(500 if self.mode == "fails" and self.path != "/health" else 200)
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(params=["down", "silent", "hangs", "fails", "html", "postgresql down", "driver missing", "locked"])
def away(request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path) -> Iterator[str]:
    """The URI of an unreachable store."""
    with socket.socket() as port, closing(sqlite3.connect(tmp_path / "mlflow.db")) as client:
        port.bind(("127.0.0.1", 0))
        place = f"someone:hunter2@127.0.0.1:{port.getsockname()[1]}"
        if request.param in ("silent", "driver missing"):
            port.listen()
        if request.param in ("down", "silent"):
            yield f"http://{place}"
        elif request.param == "postgresql down":
            yield f"postgresql://{place}/mlflow"
        elif request.param == "driver missing":
            yield f"mssql+pymssql://{place}/mlflow"
        elif request.param == "locked":
            (tmp_path / "mlflow.db").write_bytes(empty_database.read_bytes())
            client.execute("BEGIN EXCLUSIVE")
            yield f"sqlite:///{tmp_path}/mlflow.db"
        else:
            yield from _answering(request.param)


def _answering(mode: str) -> Iterator[str]:
    handler = type("Handler", (_Answering,), {"mode": mode, "over": Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://someone:hunter2@127.0.0.1:{server.server_port}"
    handler.over.set()
    server.shutdown()
    server.server_close()


def test_an_unreachable_store_is_reported_in_one_line_within_five_seconds(away: str, tmp_path: Path) -> None:
    store = TrackingStore.resolve(tmp_path, away, {})
    refusals = []

    def check() -> None:
        with pytest.raises(MachineError) as refused:
            store.check()
        refusals.append(refused.value)

    assert ends_within(5, check)
    (line,) = refusals[0].lines
    assert "\n" not in line
    assert "hunter2" not in line
    assert store.shown.removeprefix("sqlite:///") in line


@pytest.fixture
def holder(store: TrackingStore) -> Iterator[int]:
    """A process that holds the lock of the mirror forever."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(store.lock_file)], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_lock_held_by_another_process_fails_the_mirror_and_the_process_is_named(
    store: TrackingStore, holder: int
) -> None:
    store.check()  # checking needs no lock
    refusals = []

    def wait() -> None:
        with pytest.raises(TrackingUnavailable) as refused:
            mirror(study(1), store, patience=Patience(lock_seconds=0.3))
        refusals.append(str(refused.value))

    assert ends_within(5, wait)
    known = f"process {holder}" if Path("/proc/locks").exists() else "another process"
    assert f"{store.lock_file}: held by {known}" in refusals[0]
