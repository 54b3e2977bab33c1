"""What somebody has changed in MLflow is mended by the next mirror; its score is the report's."""

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from reports.statistics.reading import results_of
from runners.tracking import TrackingStore, mirror
from runners.tracking.measurements import SCORE, Score, final_values
from runners.tracking.mirrored_run import IDENTITY_TAG, SCORE_TAG, MirroredRun
from runners.tracking.runs import projected
from steeplechase.ledger.records import TrialRow, TrialStatus
from steeplechase.ledger.sessions import Session
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.mlflow_rows import everything, rows, statuses, values_of_tag
from tests.factories.reports import primary
from tests.factories.sync_and_kill import mirror_and_kill
from tests.factories.tracked_study import still_running, study
from tests.ledger.test_contamination import view

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
    return lambda: monkeypatch.setattr("runners.tracking.mlflow_tables.RunTables", lambda _: None)


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


LIMITED = (Session("run", "2026-01-02T03:04:05+00:00", {}, 60.0, "--stop-after 1m"),)


def score_of(run: MirroredRun) -> float | None:
    return next((point.value for point in run.points if point.key == SCORE), None)


def later(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with later records, as a ledger has them after further trials."""
    histories = tuple(
        replace(each, records=tuple(replace(record, sequence=record.sequence + 100) for record in each.records))
        for each in snapshot.histories
    )
    return replace(snapshot, histories=histories)


@pytest.mark.parametrize(
    ("docs_answer", "docs_pair", "described"),
    [
        (60.0, 70.0, "docs_answer, docs_pair"),
        (40.0, 70.0, "docs_pair; left out: docs_answer (not above "),
        (40.0, 41.0, "none; left out: docs_answer (not above "),
    ],
)
def test_the_score_is_the_reports(docs_answer: float, docs_pair: float, described: str) -> None:
    snapshot = view(docs_answer=docs_answer, docs_pair=docs_pair)
    values = results_of(snapshot, primary).values
    study, *runs = projected(snapshot, ())
    assert study.tags[SCORE_TAG].startswith(described)
    for run in runs:
        by_seed = values[run.tags["arm"]].get("score", {})
        seeds = [*by_seed] if run.tags["level"] == "arm" else [int(run.tags["seed"])]
        expected = [by_seed[seed] for seed in seeds if seed in by_seed]
        assert score_of(run) == (pytest.approx(fmean(expected), rel=1e-5) if expected else None)


def test_there_is_no_score_before_it_is_known_which_tasks_count() -> None:
    whole = view(docs_answer=60.0, docs_pair=70.0)
    assert all(score_of(run) is None and SCORE_TAG not in run.tags for run in projected(still_running(whole), ()))
    limited = projected(replace(still_running(whole), sessions=LIMITED), ())
    assert any(score_of(run) is not None for run in limited)


def test_a_score_over_other_tasks_replaces_the_earlier_one(store: TrackingStore) -> None:
    def shown(snapshot: Snapshot) -> tuple[float, str]:
        mirror(snapshot, store)
        query = "SELECT value FROM latest_metrics JOIN runs USING (run_uuid) WHERE name = 'baseline/1' AND key = ?"
        ((value,),) = rows(store.database_file, query.replace("?", f"'{SCORE}'"))
        return float(value), values_of_tag(store.database_file, SCORE_TAG)["baseline"]

    whole = view(docs_answer=70.0, docs_pair=40.0)
    unmade = replace(whole, shared=())  # no reference is known yet, so that every task counts
    every, described = shown(replace(still_running(unmade), sessions=LIMITED))
    assert described == "docs_answer, docs_pair"
    counting, described = shown(later(whole))
    assert described.startswith("docs_answer; left out: docs_pair")
    assert counting - every == pytest.approx((70.0 - 40.0) / 2)
    below, described = shown(later(later(unmade)))
    assert (below, described) == (every, "docs_answer, docs_pair")


def test_a_score_is_removed_where_no_task_counts_any_longer(store: TrackingStore) -> None:
    def scores() -> int:
        tables = ("metrics", "latest_metrics")
        return sum(
            len(rows(store.database_file, f"SELECT * FROM {name} WHERE key LIKE '%/score%'")) for name in tables
        )

    before, after = view(docs_answer=70.0, docs_pair=70.0), later(view(docs_answer=20.0, docs_pair=40.0))
    mirror(replace(still_running(before), sessions=LIMITED), store)
    assert scores()
    mirror(after, store)
    assert not scores()
    assert not mirror(after, store).updated


def test_after_a_kill_at_any_moment_the_next_mirror_has_each_run_once_and_none_open(tmp_path: Path) -> None:
    chance = random.Random(20261121)
    runs_there = [-1, 0, *sorted(chance.sample(range(1, 25), 2))]  # -1: while the database is being made
    for runs in runs_there:
        assert mirror_and_kill(tmp_path, runs, chance.uniform(0, 0.5 if runs < 0 else 0.03))
    store = TrackingStore.resolve(tmp_path, None, {})
    mirror(study(), store)
    _assert_whole(store)


def _assert_whole(store: TrackingStore) -> None:
    assert store.database_file
    identities = Counter(values_of_tag(store.database_file, IDENTITY_TAG).values())
    assert len(identities) == 25
    assert len(rows(store.database_file, "SELECT * FROM runs")) == 25
    assert set(statuses(store.database_file).values()) == {"FINISHED", "FAILED"}
    points = rows(store.database_file, "SELECT run_uuid, key, step FROM metrics WHERE key LIKE '%_loss' AND step > 0")
    assert len(points) == len(set(points))
    assert mirror(study(), store).unchanged == 25


def test_a_trial_without_scores_has_no_values_of_a_task_that_the_experiment_declares() -> None:
    diverged = TrialHistory(TrialRow("wild/1", "wild", 1), (), (), TrialStatus.DIVERGED)
    assert final_values(diverged, ("pretrain@2560", "reviews#1"), Score(("reviews",))) == {}
