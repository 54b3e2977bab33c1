"""An unreachable, locked or unreadable tracking store gives a warning; the run continues and prints its table."""

import socket
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from runners.opening import RunRequest, open_ledger
from runners.settings import RunSettings
from runners.stage_labels import all_labels
from runners.tracking import TrackingStore
from runners.tracking.runs import study_name
from steeplechase.commands import run
from steeplechase.commands.arguments import Chosen, choose
from steeplechase.commands.run import Stopping
from steeplechase.commands.terminal import mlflow_sync as mirroring
from steeplechase.commands.terminal.mlflow_sync import Mirroring
from steeplechase.foundation.errors import ConflictError, DataError, MachineError, ReportedError, StoppedError
from steeplechase.foundation.locking import locked
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.sessions import Stopwatch
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.command_calls import record
from tests.factories.durations import ends_within
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.mlflow_rows import rows
from tests.factories.paths import ROOT
from tests.factories.tracked_study import study


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultPaths:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return ResultPaths.of(tmp_path / "results" / "here")


def test_a_signal_while_the_store_is_checked_is_no_outage(
    places: ResultPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrackingStore, "check", lambda _: Stopping()._stop())
    with pytest.raises(StoppedError):
        Mirroring(places, None).check()


@pytest.fixture
def chosen() -> Chosen:
    return choose(ROOT / "experiments" / "table2.yaml", "smoke")


@pytest.fixture
def silent_address() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_an_unreachable_store_gives_a_warning_at_start_and_end(places: ResultPaths, silent_address: str) -> None:
    def mirrored() -> None:
        watched = Mirroring(places, silent_address)
        warning = watched.check()
        assert warning is not None
        assert "the run goes on" in warning
        with watched:
            pass
        last = watched.finish(study(1), ())
        assert last is not None
        assert "the same command mirrors it again" in last

    assert ends_within(10, mirrored)


@pytest.mark.parametrize("content", [b"not a database, but a text\n" * 99, b"SQLite format 3\0" + bytes(9999)])
def test_a_foreign_file_gives_a_warning_and_is_unchanged(places: ResultPaths, content: bytes) -> None:
    database = places.root / "mlflow.db"
    places.root.mkdir(parents=True)
    database.write_bytes(content)
    watched = Mirroring(places, None)
    for warning in (watched.check(), watched.finish(study(1), ())):
        assert warning is not None
        assert "move it away, the mirror is rebuilt from the ledger" in warning
    assert database.read_bytes() == content


@pytest.mark.parametrize("uri", ["ftp://host/x", "file:///mlruns", "databricks", "http://"])
def test_an_invalid_address_is_refused_before_anything_runs(places: ResultPaths, uri: str) -> None:
    with pytest.raises(MachineError):
        Mirroring(places, uri)
    assert not places.folder.exists()


def test_a_mirror_that_does_not_end_is_abandoned(places: ResultPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirroring, "LONGEST_FINISH_SECONDS", 0.5)
    warnings = []

    def finish() -> None:
        with locked(TrackingStore.resolve(places.root, None, {}).lock_file, 0):
            warnings.append(Mirroring(places, None).finish(study(1), ()))

    assert ends_within(5, finish)
    assert warnings[0] is not None
    assert "was not done in 0.5 seconds; nothing in the ledger is lost" in warnings[0]


@pytest.mark.parametrize(
    ("error", "status"),
    [(StoppedError("stopped"), "KILLED"), (DataError("no text"), "KILLED"), (ConflictError("held"), None)],
)
def test_an_interrupted_run_is_ended_in_a_store_that_exists(
    places: ResultPaths,
    chosen: Chosen,
    empty_database: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: ReportedError,
    status: str | None,
) -> None:
    def drive(request: RunRequest, _: object) -> Snapshot:
        with open_ledger(request) as ledger:
            if not ledger.trials():
                declare_first_cohort(chosen.experiment, ArtifactStore(request.paths.stages), ledger)
                ledger.add_record(record(ledger.trials()[0].name, all_labels(chosen.experiment)[0], 1))
            Stopwatch(ledger, "run", {}).interrupt("interrupted", 1.0)
            raise error

    monkeypatch.setattr(run, "drive", drive)
    request = RunRequest(chosen.experiment, chosen.scale, places, RunSettings(workers=1))
    for exists in (False, True):
        if exists:
            (places.root / "mlflow.db").write_bytes(empty_database.read_bytes())
        with pytest.raises(type(error)):
            run._drive(request, Console(file=StringIO()), Stopping(), run._print_brief, ("small",))
        assert (places.root / "mlflow.db").exists() == exists
    found = dict(rows(places.root / "mlflow.db", "SELECT name, status FROM runs"))
    assert found.get(study_name("table2", "smoke")) == status
