"""Mirror a study in a child process and kill it, at each of the moments `RUNS:SECONDS` given.

A moment is so many seconds after so many runs are there; -1 runs: after the making of the database has begun.
MLflow is imported once, before the first fork.
"""

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import runners.tracking.mlflow_client  # noqa: F401
from runners.tracking import TrackingStore, mirror, sync
from steeplechase.foundation.atomic_files import temporary_name
from tests.factories.mlflow_rows import rows
from tests.factories.tracked_study import still_running, study


def mirror_and_kill(results: Path, runs: int, seconds: float) -> bool:
    """Return whether the child was alive when it was killed."""
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
            sys.exit("the child has ended by itself")
        time.sleep(0.002)


def runs_there(database: Path) -> int:
    """Return how many runs are there, -1 while there is no database."""
    try:
        return len(rows(database, "SELECT run_uuid FROM runs")) if database.exists() else -1
    except sqlite3.OperationalError:  # it is being written
        return 0


if __name__ == "__main__":
    for moment in sys.argv[2:]:
        least, _, delay = moment.partition(":")
        sys.stdout.write("killed\n" if mirror_and_kill(Path(sys.argv[1]), int(least), float(delay)) else "ended\n")
        sys.stdout.flush()
