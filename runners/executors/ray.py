"""The Ray engine: trials as one Ray Tune experiment, on this machine or on a cluster.

Tune decides nothing. Its searcher hands out the course's next trial, its scheduler passes every result to the
course and answers with what the course then says; the ledger is the only memory, so nothing is ever restored
from Tune's own state. Ray runs in a process of its own, and everything crosses to it as lines of JSON.
"""

import json
import secrets
import selectors
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from foundation.errors import MachineError, StoppedError
from runners.executors.local import SECONDS_BETWEEN_GLANCES, worker_environment
from runners.executors.ray_pipes import Hosting, end_session
from runners.executors.scratch import scratch_folder, temporary
from runners.executors.tune_adapter import TuneAdapter
from runners.scheduling.course import Course

# Read by Ray when it is imported: no statistics, no loggers of its own, no state that nobody reads.
SETTINGS = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000",
    "TUNE_RESULT_BUFFER_LENGTH": "1",
}
LOG = "ray.log"
SECONDS_TO_END = 5.0


class RayExecutor:
    """Runs a course as one Tune experiment; actors stay warm between trials."""

    def __init__(self, store: Path, workers: int, address: str | None) -> None:
        self._store, self._workers, self._address = store.resolve(), workers, address

    def __enter__(self) -> "RayExecutor":
        """Start nothing yet: a finished course needs no Ray."""
        return self

    def __exit__(self, *_: object) -> None:
        """Have ended everything already, with the course."""

    def run(self, course: Course, glance: Callable[[], None]) -> None:
        """Work until the course is over.

        Raises the Refusal of a stage that refused, MachineError where Ray does not start, and StoppedError where it
        ends of itself.
        """
        hall = TuneAdapter(course, self._store)
        if hall.nothing_to_run():
            return
        with scratch_folder(temporary() if self._address is None else self._store) as scratch:
            hosting = Hosting(self._workers, self._address, str(scratch), secrets.token_hex(16))
            hosting.visible.write_text(hosting.token)
            host = _Host(hosting, scratch / LOG)
            try:
                ended = host.serve(hall, glance)
            finally:
                host.end()
            if not course.over:
                raise self._lost(ended, scratch / LOG)

    def _lost(self, ended: str, log: Path) -> MachineError | StoppedError:
        """Return what to say where Ray has ended before the course was over; its log is kept."""
        kept = self._store.parent / LOG
        with suppress(OSError):
            shutil.copyfile(log, kept)
        if ended == "before it had started":
            return MachineError(f"Ray ended {ended}; what Ray said is in {kept}")
        return StoppedError(
            f"Ray ended {ended}; everything finished is kept, and the same command carries on. "
            f"What Ray said is in {kept}"
        )


class _Host:
    """The process that holds Ray, in a session of its own, as the driver sees it."""

    def __init__(self, hosting: Hosting, log: Path) -> None:
        environment = {**worker_environment(), **SETTINGS}
        if hosting.address is None:  # only this run may give work to the Ray that it starts
            environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        command = [sys.executable, "-m", "runners.executors.ray_host", hosting.as_text()]
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
                start_new_session=True,
            )

    def serve(self, hall: TuneAdapter, glance: Callable[[], None]) -> str:
        """Answer what the host asks until it ends, calling `glance` a few times a second; return how it ended."""
        answers: dict[str, Callable[..., Any]] = {"next": hall.next_trial, "take": hall.take, "died": hall.died}
        started = False
        while line := self._question(glance):
            question, *values = json.loads(line)
            if question == "refused":
                raise MachineError(values)
            if question == "lost":
                return "unexpectedly: its node on this machine died"
            if question == "over":
                return "before the trials"
            started = True
            self._answer(answers[question](*values))
        return f"unexpectedly with code {self._process.wait()}" if started else "before it had started"

    def end(self) -> None:
        """End the host and every process of its session."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_END)
        end_session(self._process.pid)
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _question(self, glance: Callable[[], None]) -> str:
        """Return the next question; nothing where the host has ended."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                glance()
                if selector.select(SECONDS_BETWEEN_GLANCES):
                    line = self._process.stdout.readline()
                    return line if line.endswith("\n") else ""  # it ended in the middle of one

    def _answer(self, value: object) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # a host that has ended shows as an end of its questions
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()


def open_executor(store: Path, workers: int, address: str | None) -> RayExecutor:
    """Return the Ray engine."""
    return RayExecutor(store, workers, address)
