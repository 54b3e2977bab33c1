"""What somebody has changed in MLflow is mended by the next mirror, and the mirror follows its folder."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runners.tracking import TrackingStore, mirror, mlflow_tables
from tests.factories.mlflow_rows import everything, rows
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
    "name": f"UPDATE runs SET name = 'mine' WHERE run_uuid = {ONE}",
    "value": f"UPDATE metrics SET value = 7.5 WHERE key = 'held_out_loss_by_tokens' AND run_uuid = {ONE}",
    "step": f"UPDATE metrics SET step = step + 1 WHERE key = 'held_out_loss_by_tokens' AND run_uuid = {ONE}",
    "metrics": f"DELETE FROM metrics WHERE run_uuid = {ONE}",
    "parameters": f"DELETE FROM params WHERE run_uuid = {ONE}",
    "tag": f"UPDATE tags SET value = 'x' WHERE key = 'arm' AND run_uuid = {ONE}",
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


@pytest.mark.parametrize("edit", ["status", "metrics", "parameters", "tag"])
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
