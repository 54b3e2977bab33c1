"""Killed between any two calls, the mirror is whole again after the next one."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from database_rows import rows, statuses, values_of_tag
from example_study import study

from runners.tracking import TrackingStore, mirror
from runners.tracking.mirrored_run import IDENTITY_TAG

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
MIRROR = f"""
import sys
sys.path[:0] = [{str(HERE)!r}, {str(ROOT)!r}]
from pathlib import Path
from example_study import study, still_running
from runners.tracking import TrackingStore, mirror
import runners.tracking.door
print("ready", flush=True)
mirror(still_running(study()), TrackingStore.resolve(Path(sys.argv[1]), None, {{}}))
print("done", flush=True)
"""
# Seconds after MLflow is imported: making the database takes about one and a half, sending the runs as long again.
MOMENTS = [random.Random(7).uniform(*span) for span in ((0, 0.4), (0.4, 1.2), (1.2, 2.0), (2.0, 2.6), (2.6, 3.2))]


@pytest.mark.slow
def test_killed_at_any_moment_the_next_mirror_leaves_each_run_once_and_none_open(tmp_path: Path) -> None:
    for moment in MOMENTS:
        _mirror_and_kill(tmp_path, moment)  # five kills, one upon the other
    store = TrackingStore.resolve(tmp_path, None, {})
    mirror(study(), store)
    _assert_whole(store)


@pytest.mark.slow
def test_a_database_killed_while_it_is_made_is_made_again(tmp_path: Path) -> None:
    for moment in MOMENTS[:2]:
        _mirror_and_kill(tmp_path, moment)
        assert not (tmp_path / "mlflow.db").exists() or rows(tmp_path / "mlflow.db", "SELECT * FROM alembic_version")
    TrackingStore.resolve(tmp_path, None, {}).check()


def _mirror_and_kill(results: Path, seconds: float) -> None:
    worker = subprocess.Popen([sys.executable, "-c", MIRROR, str(results)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout
    assert worker.stdout.readline() == "ready\n"
    time.sleep(seconds)
    worker.send_signal(signal.SIGKILL)
    worker.communicate()


def _assert_whole(store: TrackingStore) -> None:
    assert store.database_file
    identities = Counter(values_of_tag(store.database_file, IDENTITY_TAG).values())
    assert len(identities) == 25
    assert len(rows(store.database_file, "SELECT * FROM runs")) == 25
    assert set(statuses(store.database_file).values()) == {"FINISHED", "KILLED", "FAILED"}
    points = rows(store.database_file, "SELECT run_uuid, key, step FROM metrics WHERE key LIKE '%_loss' AND step > 0")
    assert len(points) == len(set(points))
    summary = mirror(study(), store)
    assert summary.unchanged == 25
