"""The check of a tracking store takes at most five seconds, for any fault, and creates nothing."""

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
from steeplechase.foundation.errors import MachineError
from tests.factories.durations import ends_within
from tests.factories.tracked_study import study

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
