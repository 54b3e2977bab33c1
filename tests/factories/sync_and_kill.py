"""Mirror a study in a child process and kill it at a moment."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from runners.tracking import TrackingStore, mirror, sync
from steeplechase.foundation.atomic_files import temporary_name
from tests.factories.mlflow_rows import rows
from tests.factories.tracked_study import still_running, study


def mirror_and_kill(results: Path, runs: int, seconds: float) -> bool:
    """Return whether the child was alive when it was killed, so many seconds after so many runs are there.

    -1 runs: after the making of the database has begun.
    """
    import runners.tracking.mlflow_client  # noqa: F401  # seconds, which no child is to spend

    child = os.fork()
    if child == 0:
        sync.RUNS_AT_A_TIME = 1  # so that a kill finds some of the runs
        mirror(still_running(study()), TrackingStore.resolve(results, None, {}))
        os._exit(0)
    wait_for(child, lambda: runs_there(results / "mlflow.db") >= runs)
    if runs < 0:
        wait_for(child, temporary_name(results / "mlflow.db").exists)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def wait_for(child: int, come: Callable[[], bool]) -> None:
    """Return as soon as it has come. Fails where the child ends without it."""
    while not come():
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            raise AssertionError("the child has ended by itself")
        time.sleep(0.002)


def runs_there(database: Path) -> int:
    """Return how many runs are there, -1 while there is no database."""
    try:
        return len(rows(database, "SELECT run_uuid FROM runs")) if database.exists() else -1
    except sqlite3.OperationalError:  # it is being written
        return 0
