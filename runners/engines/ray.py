"""The Ray engine: trials as one Ray Tune experiment, on this machine or on a cluster.

Tune decides nothing. Its searcher hands out the course's next trial, its scheduler passes every result to the
course and answers with what the course then says; the ledger is the only memory, so nothing is ever restored
from Tune's own state. Everything crosses Ray's border as plain JSON.
"""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from runners.driving.course import Course
from runners.engines.hall import Hall

# Read by Ray when it is imported: no statistics, no loggers of its own, no state that nobody reads.
SETTINGS = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000",
    "TUNE_RESULT_BUFFER_LENGTH": "1",
}


class RayEngine:
    """Runs a course as one Tune experiment; actors stay warm between trials."""

    def __init__(self, store: Path, workers: int, address: str | None) -> None:
        self._store, self._workers, self._address = store.resolve(), workers, address
        self._started = False

    def __enter__(self) -> "RayEngine":
        """Start nothing yet: a finished course needs no Ray."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; a Ray that was started here ends."""
        if self._started:
            from runners.engines.ray_tune import disconnect

            disconnect()

    def run(self, course: Course, glance: Callable[[], None]) -> None:
        """Work until the course is over. Raises the Refusal of a stage that refused."""
        hall = Hall(course, self._store)
        if hall.nothing_to_run():
            return
        os.environ.update(SETTINGS)
        if self._address is None:  # only this run may give work to the Ray that it starts
            os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        from runners.engines.ray_tune import connect, run_course

        self._started = True
        connect(self._workers, self._address)
        run_course(hall, self._workers, glance)
        if hall.refusal is not None:
            raise hall.refusal


def open_engine(store: Path, workers: int, address: str | None) -> RayEngine:
    """Return the Ray engine."""
    return RayEngine(store, workers, address)
