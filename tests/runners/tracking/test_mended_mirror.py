"""What somebody has changed in MLflow is mended by the next mirror, and the mirror follows its folder."""

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.tracking import Patience, TrackingStore, mirror, mlflow_tables, sync
from steeplechase.commands.terminal import mlflow_sync
from steeplechase.commands.terminal.mlflow_sync import Mirroring
from steeplechase.ledger.paths import ResultPaths
from tests.factories.mlflow_rows import everything, rows, statuses
from tests.factories.tracked_study import still_running, study

STUDY = study(arms=2, seeds=(1,))
"""A study, two arms and two trials."""
OF = "(SELECT run_uuid FROM runs WHERE name = '{}')"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.md"
    file.write_text("# Table 2\n")
    return file


def edited(store: TrackingStore, *commands: str) -> None:
    assert store.database_file
    with closing(sqlite3.connect(store.database_file)) as connection, connection:
        for command in commands:
            connection.execute(command)


def content(store: TrackingStore) -> dict[str, list[Any]]:
    """Return all rows but the time of the last change."""
    found = everything(store.database_file)
    found["experiment_tags"] = [row for row in found["experiment_tags"] if "steeplechase.changed" not in row]
    return found


ONE = OF.format("depthwise/1")
EDITS = {
    "status": f"UPDATE runs SET status = 'RUNNING', end_time = NULL WHERE run_uuid = {ONE}",
    "end": f"UPDATE runs SET end_time = 5 WHERE run_uuid = {ONE}",
    "name": f"UPDATE runs SET name = 'mine' WHERE run_uuid = {ONE}",
    "value": f"UPDATE metrics SET value = 7.5 WHERE key = 'held_out_loss_by_tokens' AND run_uuid = {ONE}",
    "step": f"UPDATE metrics SET step = step + 1 WHERE key = 'held_out_loss_by_tokens' AND run_uuid = {ONE}",
    "a point": f"DELETE FROM metrics WHERE step = 250000 AND run_uuid = {ONE}",
    "metrics": f"DELETE FROM metrics WHERE run_uuid = {ONE}",
    "parameter": f"UPDATE params SET value = '99' WHERE key = 'architecture.depth' AND run_uuid = {ONE}",
    "parameters": f"DELETE FROM params WHERE run_uuid = {ONE}",
    "tag": f"UPDATE tags SET value = 'x' WHERE key = 'arm' AND run_uuid = {ONE}",
    "parent": f"DELETE FROM tags WHERE key = 'mlflow.parentRunId' AND run_uuid = {ONE}",
    "stop reason": f"INSERT INTO tags VALUES ('stop_reason', 'bored', {ONE})",
    "fingerprint": f"DELETE FROM tags WHERE key = 'steeplechase.synced' AND run_uuid = {ONE}",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_what_somebody_has_changed_is_mended(store: TrackingStore, report: Path, edit: str) -> None:
    mirror(STUDY, store, [report])
    before = content(store)
    edited(store, edit)
    assert content(store) != before
    assert mirror(STUDY, store, [report]).updated == 1
    assert content(store) == before
    assert mirror(STUDY, store, [report]).unchanged == 5


@pytest.fixture
def as_a_server(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function after which stores are written by MLflow's own calls, as servers are."""
    return lambda: monkeypatch.setattr(mlflow_tables, "RunTables", lambda _: None)


def named(store: TrackingStore) -> dict[str, list[Any]]:
    """Return every row of the runs under their names, without what is drawn or a time of day."""
    names = dict(rows(store.database_file, "SELECT run_uuid, name FROM runs"))
    drawn = "lifecycle_stage, source_type, source_name, entry_point_name, user_id, source_version, status"
    queries = {
        "runs": f"SELECT run_uuid, end_time - start_time, {drawn} FROM runs",
        **{name: f"SELECT run_uuid, key, value FROM {name}" for name in ("tags", "params")},
        **{name: f"SELECT run_uuid, key, value, step, is_nan FROM {name}" for name in ("metrics", "latest_metrics")},
    }
    return {
        table: sorted(repr([names.get(cell, cell) for cell in row]) for row in rows(store.database_file, query))
        for table, query in queries.items()
    }


def test_the_rows_are_those_that_the_calls_of_mlflow_write(
    store: TrackingStore, tmp_path: Path, report: Path, as_a_server: Callable[[], None]
) -> None:
    place = Path(shutil.copytree(store.results_root, tmp_path / "other"))
    other = TrackingStore.resolve(place, None, {})
    for stage in (still_running(STUDY), STUDY):
        mirror(stage, store, [report])
    as_a_server()
    for stage in (still_running(STUDY), STUDY):
        mirror(stage, other, [report])
    assert named(other) == named(store)


@pytest.mark.parametrize("edit", ["status", "name", "metrics", "parameters", "tag", "parent", "stop reason"])
def test_what_a_server_shows_of_a_change_is_mended(
    store: TrackingStore, as_a_server: Callable[[], None], edit: str
) -> None:
    as_a_server()
    mirror(STUDY, store)
    before = named(store)
    latest = f"DELETE FROM latest_metrics WHERE run_uuid = {ONE}"
    edited(store, EDITS[edit], *([latest] if edit == "metrics" else []))
    assert mirror(STUDY, store).updated == 1
    assert named(store) == before
    assert mirror(STUDY, store).unchanged == 5


def test_what_others_have_added_is_kept(store: TrackingStore) -> None:
    mirror(STUDY, store)
    edited(
        store,
        f"INSERT INTO tags VALUES ('reviewer', 'me', {ONE})",
        f"INSERT INTO params VALUES ('room', '4', {ONE})",
        f"INSERT INTO metrics VALUES ('temperature', 21.5, 1, {ONE}, 0, 0)",
    )
    assert mirror(STUDY, store).unchanged == 5
    edited(store, EDITS["value"], EDITS["status"])
    assert mirror(STUDY, store).updated == 1
    for table, key in (("tags", "reviewer"), ("params", "room"), ("metrics", "temperature")):
        assert len(rows(store.database_file, f"SELECT * FROM {table} WHERE key = '{key}'")) == 1


@pytest.mark.parametrize("name", ["table2-laptop", "depthwise", "depthwise/1"])
def test_a_deleted_run_is_made_again_above_its_trials(store: TrackingStore, name: str) -> None:
    mirror(STUDY, store)
    edited(store, f"UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid = {OF.format(name)}")
    assert mirror(STUDY, store).created == 1
    query = (
        "SELECT child.name, parent.name FROM runs AS child JOIN tags ON tags.run_uuid = child.run_uuid "
        "JOIN runs AS parent ON parent.run_uuid = tags.value WHERE tags.key = 'mlflow.parentRunId' "
        "AND child.lifecycle_stage = 'active' AND parent.lifecycle_stage = 'active'"
    )
    study = "table2-laptop"
    assert sorted(rows(store.database_file, query)) == [
        *(("baseline", study), ("baseline/1", "baseline")),
        *(("depthwise", study), ("depthwise/1", "depthwise")),
    ]
    assert mirror(STUDY, store).unchanged == 5


def test_a_renamed_experiment_is_found_again(store: TrackingStore) -> None:
    mirror(STUDY, store)
    edited(store, "UPDATE experiments SET name = 'mine' WHERE name = 'table2-laptop'")
    assert mirror(STUDY, store).unchanged == 5
    assert [name for (name,) in rows(store.database_file, "SELECT name FROM experiments")] == ["Default", "mine"]


@pytest.mark.parametrize("damage", ["changed", "removed"])
def test_an_attached_file_is_attached_again(store: TrackingStore, report: Path, damage: str) -> None:
    mirror(STUDY, store, [report])
    (attached,) = store.artifacts.rglob("report.md")
    attached.unlink() if damage == "removed" else attached.write_text("another")
    assert mirror(STUDY, store, [report]).updated == 1
    assert attached.read_text() == report.read_text()


@pytest.mark.parametrize("copied", [False, True], ids=["moved", "copied"])
def test_the_artifacts_are_where_the_store_is(
    store: TrackingStore, report: Path, tmp_path: Path, copied: bool
) -> None:
    mirror(STUDY, store, [report])
    place = tmp_path / "elsewhere"
    shutil.copytree(store.results_root, place) if copied else store.results_root.rename(place)
    moved = TrackingStore.resolve(place, None, {})
    assert mirror(STUDY, moved, [report]).unchanged == 5
    for query in ("SELECT artifact_uri FROM runs", "SELECT artifact_location FROM experiments"):
        for (uri,) in rows(moved.database_file, query):
            assert Path(uri).is_relative_to(place / "artifacts")
    (attached,) = rows(
        moved.database_file, f"SELECT artifact_uri FROM runs WHERE run_uuid = {OF.format('table2-laptop')}"
    )
    assert Path(attached[0], "report.md").read_text() == "# Table 2\n"


def test_a_killed_session_of_a_folder_that_was_renamed_or_copied_is_closed(store: TrackingStore) -> None:
    drawn = replace(study(arms=2, seeds=(1, 2)), drawn_identity="0123456789ab")
    mirror(still_running(drawn), store)
    assert "RUNNING" in statuses(store.database_file).values()
    assert mirror(drawn, store).created == 0
    assert set(statuses(store.database_file).values()) == {"FINISHED"}


def test_a_long_mirror_reports_its_progress_and_ends(
    store: TrackingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than the time that it may take without a run being sent."""
    told: list[str] = []

    def slowly(*arguments: Any) -> None:
        patience: Patience = arguments[3]
        for sent in range(1, 7):
            time.sleep(0.1)
            patience.sent(sent, 6)

    monkeypatch.setattr(mlflow_sync, "LONGEST_FINISH_SECONDS", 0.4)
    monkeypatch.setattr(mlflow_sync, "SECONDS_BETWEEN_REPORTS", 0.05)
    monkeypatch.setattr(mlflow_sync, "mirror", slowly)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    places = ResultPaths(tmp_path, store.results_root)
    assert Mirroring(places, None).finish(STUDY, (), told.append) is None
    assert "MLflow: 3 of 6 runs are sent" in told


def test_runs_are_sent_in_batches_and_a_stop_ends_between_them(
    store: TrackingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "RUNS_AT_A_TIME", 2)
    sent: list[tuple[int, int]] = []
    mirror(STUDY, store, patience=Patience(sent=lambda *numbers: sent.append(numbers)))
    assert sent == [(2, 5), (4, 5), (5, 5)]
