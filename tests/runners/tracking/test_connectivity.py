"""The check of a tracking store takes at most five seconds, for any fault, and creates nothing."""

import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runners.tracking import Patience, TrackingStore, TrackingUnavailable, mirror
from steeplechase.foundation.errors import MachineError
from tests.factories.durations import ends_within
from tests.factories.tracked_study import study

HOLD = (
    "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); "
    "print(flush=True); time.sleep(60)"
)


@pytest.fixture(params=["down", "postgresql down", "locked"])
def away(request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path) -> Iterator[str]:
    """The URI of an unreachable store."""
    with socket.socket() as port, closing(sqlite3.connect(tmp_path / "mlflow.db")) as client:
        port.bind(("127.0.0.1", 0))
        place = f"someone:hunter2@127.0.0.1:{port.getsockname()[1]}"
        if request.param == "down":
            yield f"http://{place}"
        elif request.param == "postgresql down":
            yield f"postgresql://{place}/mlflow"
        else:
            (tmp_path / "mlflow.db").write_bytes(empty_database.read_bytes())
            client.execute("BEGIN EXCLUSIVE")
            yield f"sqlite:///{tmp_path}/mlflow.db"


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
