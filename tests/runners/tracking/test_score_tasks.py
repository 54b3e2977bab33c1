"""The score of the mirror is the report's, and a kill at any moment leaves a mirror that can be completed."""

import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from reports.statistics.reading import results_of
from runners.tracking import TrackingStore, mirror
from runners.tracking.measurements import SCORE
from runners.tracking.mirrored_run import IDENTITY_TAG, SCORE_TAG, MirroredRun
from runners.tracking.runs import projected
from steeplechase.ledger.sessions import Session
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.mlflow_rows import rows, statuses, values_of_tag
from tests.factories.reports import primary
from tests.factories.tracked_study import still_running, study
from tests.ledger.test_task_standing import view

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


HERE = Path(__file__).parent
MIRROR_AND_KILL = "tests.factories.sync_and_kill"


def test_after_a_kill_at_any_moment_the_next_mirror_has_each_run_once_and_none_open(tmp_path: Path) -> None:
    chance = random.Random(20261121)
    runs_there = [-1, 0, *sorted(chance.sample(range(1, 25), 3))]  # -1: while the database is being made
    moments = [f"{runs}:{chance.uniform(0, 0.5 if runs < 0 else 0.03)}" for runs in runs_there]
    command = [sys.executable, "-m", MIRROR_AND_KILL, str(tmp_path), *moments]
    done = subprocess.run(command, cwd=HERE.parents[2], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "killed\n" * len(moments)), done.stderr
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
