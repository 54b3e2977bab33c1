"""After a kill between any two calls, the next mirror is complete."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from runners.tracking import TrackingStore, mirror
from runners.tracking.mirrored_run import IDENTITY_TAG
from tests.factories.mlflow_rows import rows, statuses, values_of_tag
from tests.factories.tracked_study import study

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
    assert set(statuses(store.database_file).values()) == {"FINISHED", "KILLED", "FAILED"}
    points = rows(store.database_file, "SELECT run_uuid, key, step FROM metrics WHERE key LIKE '%_loss' AND step > 0")
    assert len(points) == len(set(points))
    assert mirror(study(), store).unchanged == 25
