"""The Ray executor: trials as one Ray Tune experiment, on this machine or on a cluster.

Tune decides nothing. Its searcher hands out the trials whose tasks are started, its scheduler passes every result on
and is answered when the run has decided what follows; the ledger is the only memory, so nothing is ever restored from
Tune's own state. Ray runs in a process of its own, and everything crosses to it as lines of JSON.
"""

import json
import secrets
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from foundation.errors import MachineError, StoppedError
from ledger.artifacts import Outcome
from runners.executors.local import SECONDS_BETWEEN_GLANCES, LocalExecutor, worker_environment
from runners.executors.ray_pipes import Hosting, end_session
from runners.executors.scratch import scratch_folder, temporary
from runners.executors.tune_adapter import CONTINUE, STOP, TuneAdapter
from runners.work_queue import Failure, StageTask

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
SECONDS_TO_END, SECONDS_TO_FINISH = 5.0, 10.0


LOST, NOT_STARTED = "unexpectedly: its node on this machine died", "before it had started"
FINISHED = "FINISHED"  # what Tune's searchers answer when they have no more


class RayExecutor:
    """Runs trials as one Tune experiment, whose actors stay warm between trials; Ray starts with the first trial.

    Stages that all trials share run on workers of this machine.
    """

    def __init__(self, store: Path, workers: int, address: str | None) -> None:
        self._store, self._workers, self._address = store.resolve(), workers, address
        self._local = LocalExecutor(store, workers)
        self._adapter = TuneAdapter(self._store, workers)
        self._open = ExitStack()
        self._host: _Host | None = None
        self._log = Path()
        self._answering: str | None = None
        """The trial whose result was passed on and is still to be answered."""

    def __enter__(self) -> "RayExecutor":
        """Start nothing yet: a run that finds everything done needs no Ray."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End every process; without an error Tune is told first that there are no more trials."""
        with self._local, self._open:
            if self._host is not None and raised[:1] == (None,):
                self._finish(self._host)

    def accepts(self, task: StageTask) -> bool:
        """Return whether a task can be started now."""
        return (self._local if task.trial is None else self._adapter).accepts(task)

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        """Start a task; Ray itself with the first one of a trial."""
        if task.trial is None:
            self._local.start(task)
            return
        if self._host is None:
            self._local.end()
            self._host = self._launched()
        self._adapter.start(task, following)

    def finished(self) -> Sequence[tuple[StageTask, Outcome | Failure]]:
        """Answer what Tune asks until a task has ended, or for a moment.

        Raises MachineError where Ray does not start, and StoppedError where it ends of itself.
        """
        if self._host is None:
            return self._local.finished()
        if self._answering is not None:
            name, self._answering = self._answering, None
            told = self._adapter.goes_on(name)
            self._host.answer(told)
            if told == STOP:
                return []  # a worker is free
        question = self._host.question()
        end = None if question is None else self._end(self._host, *question)
        return [] if end is None else [end]

    def _end(self, host: "_Host", question: str, *values: Any) -> tuple[StageTask, Outcome | Failure] | None:
        """Answer a question; return the task that has ended with it, if any."""
        if question == "next":
            host.answer(self._adapter.next_trial())
        elif question == "take":
            if (end := self._adapter.take(*values)) is not None:
                self._answering = values[0]
                return end
            host.answer(CONTINUE)
        elif question == "died":
            host.answer(None)
            return self._adapter.died(*values)
        elif question == "refused":
            raise MachineError(list(values))
        else:
            raise self._lost({"lost": LOST, "over": "before the trials"}.get(question, question))
        return None

    def _launched(self) -> "_Host":
        folder = temporary() if self._address is None else self._store
        scratch = self._open.enter_context(scratch_folder(folder))
        hosting = Hosting(self._workers, self._address, str(scratch), secrets.token_hex(16))
        hosting.visible.write_text(hosting.token)
        self._log = scratch / LOG
        host = _Host(hosting, self._log)
        self._open.callback(host.end)
        return host

    def _finish(self, host: "_Host") -> None:
        """Tell Tune that there are no more trials and wait until it has ended, though not for long."""
        until = time.monotonic() + SECONDS_TO_FINISH
        if self._answering is not None:
            host.answer(self._adapter.goes_on(self._answering))
        while (question := host.question()) is None or question[0] in ("next", "take", "died"):
            if time.monotonic() > until:
                return
            if question is not None:
                host.answer(FINISHED if question[0] == "next" else STOP)

    def _lost(self, ended: str) -> MachineError | StoppedError:
        """Return what to say where Ray has ended before the run was over; its log is kept."""
        kept = self._store.parent / LOG
        with suppress(OSError):
            shutil.copyfile(self._log, kept)
        if ended == NOT_STARTED:
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
        self._started = False
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

    def question(self) -> list[Any] | None:
        """Return what the host asks, None where it asks nothing for a moment; how it ended where it has."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(SECONDS_BETWEEN_GLANCES):
                return None
        line = self._process.stdout.readline()
        if line.endswith("\n"):  # else it ended in the middle of one
            self._started = True
            question: list[Any] = json.loads(line)
            return question
        return [f"unexpectedly with code {self._process.wait()}" if self._started else NOT_STARTED]

    def answer(self, value: object) -> None:
        """Answer the last question."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # a host that has ended shows as an end of its questions
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()


def open_executor(store: Path, workers: int, address: str | None) -> RayExecutor:
    """Return the Ray executor."""
    return RayExecutor(store, workers, address)
