"""The local executor: warm worker processes on this machine, one thread each, spoken to over pipes."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ledger.artifacts import Outcome
from runners.executors.worker import as_line
from runners.stages.stage import THREADS, Job
from runners.work_queue import Failure, StageTask, end_of

SECONDS_BETWEEN_GLANCES = 0.2
ONE_THREAD = {name: str(THREADS) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
QUIET = {"PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


class LocalExecutor:
    """Runs tasks on up to `workers` processes; a process starts with its first stage and stays warm.

    An exclusive stage has the machine alone: it waits until every worker is idle, and nothing starts beside it.
    """

    def __init__(self, store: Path, workers: int) -> None:
        self._store, self._limit = str(store), workers
        self._workers: list[_Worker] = []

    def __enter__(self) -> "LocalExecutor":
        """Start nothing yet."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End every worker; a stage that was running can be carried on by the next run."""
        self.end()

    def end(self) -> None:
        """End every worker; the next task starts a new one."""
        for worker in self._workers:
            worker.end()
        self._workers = []

    def accepts(self, task: StageTask) -> bool:
        """Return whether a worker is idle or may still be added, and nothing exclusive is in the way."""
        running = [worker.work for worker in self._workers if worker.work is not None]
        if running and any(each.stage.declaration.exclusive for each in (task, *running)):
            return False
        return len(self._workers) < self._limit or any(worker.work is None for worker in self._workers)

    def start(self, task: StageTask, following: Sequence[StageTask] = ()) -> None:
        """Start a task on an idle worker, or on a new one."""
        idle = next((worker for worker in self._workers if worker.work is None), None)
        if idle is None:
            idle = _Worker()
            self._workers.append(idle)
        idle.start(task, self._store)

    def finished(self) -> list[tuple[StageTask, Outcome | Failure]]:
        """Return the tasks that have ended, after a short wait where none has."""
        ends = [worker.collect() for worker in self._waiting()]
        self._workers = [worker for worker in self._workers if worker.alive]
        return ends

    def _waiting(self) -> list["_Worker"]:
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                if worker.work is not None:
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
            if not selector.get_map():
                return []
            return [key.data for key, _ in selector.select(SECONDS_BETWEEN_GLANCES)]


class _Worker:
    """One process; it is started when it gets its first work."""

    def __init__(self) -> None:
        self.work: StageTask | None = None
        self.alive = True
        self._process: subprocess.Popen[str] | None = None

    @property
    def answers(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def start(self, work: StageTask, store: str) -> None:
        self._process = self._process or _launch()
        self.work = work
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # a dead worker shows as an end of its answers
            self._process.stdin.write(as_line(Job.of(work.stage, store)) + "\n")
            self._process.stdin.flush()

    def collect(self) -> tuple[StageTask, Outcome | Failure]:
        assert self._process is not None
        assert self._process.stdout is not None
        assert self.work is not None
        work, line = self.work, self._process.stdout.readline()
        self.work = None
        if not line:
            self.alive = False
            code = self._process.wait()
            return work, Failure(f"the worker process ended with code {code}", worker_died=True)
        return work, end_of(json.loads(line))

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _launch() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "runners.executors.worker"]
    environment = worker_environment()
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def worker_environment() -> dict[str, str]:
    """Return the variables of a process of ours: its packages are found, and it runs one quiet thread."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return {**os.environ, **ONE_THREAD, **QUIET, "PYTHONPATH": path}


def open_executor(store: Path, workers: int, address: str | None) -> LocalExecutor:
    """Return the local executor; an address is for clusters and means nothing here."""
    return LocalExecutor(store, workers)
