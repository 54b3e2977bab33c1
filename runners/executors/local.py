"""The local executor: warm worker processes on this machine, one thread each, connected by pipes."""

import json
import math
import os
import selectors
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runners.executors.worker import as_line
from runners.settings import RunSettings
from runners.stages.stage import THREADS, Job
from runners.work_queue import Failure, StageTask, outcome_of
from steeplechase.foundation.child_process import import_path, module_command
from steeplechase.foundation.devices import SHARE, VISIBLE, cards
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.locking import Holder
from steeplechase.ledger.artifacts import Outcome

SECONDS_BETWEEN_POLLS = 0.2
SECONDS_TO_DIE = 5.0
BYTES_AT_ONCE = 1 << 16
ONE_THREAD = {name: str(THREADS) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
QUIET = {"PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
GROWING_SEGMENTS = {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}
"""torch: freed memory of a GPU serves tensors of other sizes, as those of the next trial."""
RETURNED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "67108864"}
"""glibc: tensors below 32 MB reuse the heap, which is trimmed after a stage; a mapping each costs page faults."""


class LocalExecutor:
    """Runs tasks on up to `workers` processes, each started with its first stage and kept warm.

    An exclusive stage runs alone: it starts when every worker is idle, and no other task starts until it has ended.
    Workers get the machine's GPUs in turn, each as many as its stage has processes, or its declared share.
    """

    def __init__(self, store: Path, workers: int, objects: str = "", gpus_per_trial: float | None = None) -> None:
        self._store, self._limit, self._objects = str(store), workers, objects
        self._cards, self._share = cards(), gpus_per_trial
        if gpus_per_trial and not self._cards:
            raise MachineError(f"--gpus-per-trial {gpus_per_trial:g}: this machine has no GPU")
        if gpus_per_trial:
            a_card_holds = int(1 / gpus_per_trial + 1e-9)  # a share is of one card, as under Ray
            fitting = len(self._cards) * a_card_holds if a_card_holds else int(len(self._cards) / gpus_per_trial)
            self._limit = min(workers, fitting)
            if not self._limit:
                many = len(self._cards)
                raise MachineError(
                    f"--gpus-per-trial {gpus_per_trial:g}: this machine has {many}; allowed: up to {many}"
                )
        self._workers: list[_Worker] = []

    def __enter__(self) -> "LocalExecutor":
        """Return self; workers start with the first tasks."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End every worker; the next run resumes a stage that was running."""
        self.end()

    def end(self) -> None:
        """End every worker; the next task starts a new one."""
        for worker in self._workers:
            worker.end()
        self._workers = []

    def accepts(self, task: StageTask) -> bool:
        """Return whether a worker is idle or can be added, and no exclusive stage prevents it."""
        running = [worker.task for worker in self._workers if worker.task is not None]
        if running and any(other.stage.declaration.exclusive for other in (task, *running)):
            return False
        processes = sum(other.stage.declaration.processes for other in (task, *running))
        return not running or processes <= self._limit

    def start(self, task: StageTask, following: Sequence[StageTask] = ()) -> None:
        """Start a task on an idle worker, or on a new one."""
        needed = self._cards_of(task)
        idle = next((worker for worker in self._workers if worker.task is None), None)
        if idle is not None and len(idle.cards) < needed:
            idle.end()
            self._workers.remove(idle)
            idle = None
        if idle is None:
            idle = _Worker(self._least_used(needed), self._share)
            self._workers.append(idle)
        idle.start(task, Job.of(task.stage, self._store, self._objects))

    @property
    def busy(self) -> bool:
        """Whether a stage is running."""
        return any(worker.task is not None for worker in self._workers)

    def _cards_of(self, task: StageTask) -> int:
        """Return the GPUs that a task's worker sees; several workers may see one."""
        wanted = task.stage.declaration.processes if self._share is None else math.ceil(self._share)
        return min(len(self._cards), max(1, wanted))

    def _least_used(self, count: int) -> tuple[str, ...]:
        """Return the GPUs that the fewest workers see, in their order."""
        used = Counter(card for worker in self._workers for card in worker.cards)
        chosen = sorted(self._cards, key=lambda card: used[card])[:count]
        return tuple(card for card in self._cards if card in chosen)

    def finished(self) -> list[tuple[StageTask, Outcome | Failure]]:
        """Return the tasks that have ended, after a short wait if there are none."""
        ends = [worker.collect() for worker in self._with_answers()]
        self._workers = [worker for worker in self._workers if worker.alive]
        return [end for end in ends if end is not None]

    def end_worker(self, task: StageTask, holder: Holder | None = None) -> bool:
        """Kill the worker of a running task, with every process of its session."""
        for worker in self._workers:
            if worker.task is not None and worker.task.task_id == task.task_id:
                worker.kill()
                return True
        return False

    def _with_answers(self) -> list["_Worker"]:
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                if worker.task is not None:
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
            if not selector.get_map():
                return []
            return [key.data for key, _ in selector.select(SECONDS_BETWEEN_POLLS)]


class _Worker:
    """One worker process, started with its first task."""

    def __init__(self, cards: tuple[str, ...] = (), share: float | None = None) -> None:
        self.cards, self._share = cards, share
        self.task: StageTask | None = None
        self.alive = True
        self._process: subprocess.Popen[bytes] | None = None
        self._answer = b""
        """What has been read of the answer."""

    @property
    def answers(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def start(self, task: StageTask, job: Job) -> None:
        self._process = self._process or _launch(_gpus(self.cards, self._share))
        self.task = task
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # `collect` reports a dead worker
            self._process.stdin.write(f"{as_line(job)}\n".encode())
            self._process.stdin.flush()

    def collect(self) -> tuple[StageTask, Outcome | Failure] | None:
        """Read what there is of the answer; return the task's end if that is all of it."""
        assert self._process is not None
        assert self.task is not None
        part = os.read(self.answers, BYTES_AT_ONCE)
        self._answer += part
        if part and not self._answer.endswith(b"\n"):
            return None
        task, line, self.task, self._answer = self.task, self._answer, None, b""
        if not part:  # an incomplete answer means that the worker has ended
            self.alive = False
            code = self._process.wait()
            return task, Failure(f"the worker process ended with code {code}", worker_died=True)
        return task, outcome_of(json.loads(line))

    def kill(self) -> None:
        """Kill the process and the further ones of its session, which compute a stage with it."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.kill()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):  # one in an uninterruptible system call ends after it
                self._process.wait(SECONDS_TO_DIE)


def _gpus(cards: tuple[str, ...], share: float | None) -> dict[str, str]:
    """Return the environment by which a worker sees its GPUs alone, and takes no more than its share of one."""
    visible = {VISIBLE: ",".join(cards)} if cards else {}
    return visible | ({SHARE: f"{share:g}"} if cards and share is not None and 0 < share < 1 else {})


def _launch(gpus: dict[str, str]) -> subprocess.Popen[bytes]:
    command, environment = module_command("runners.executors.worker"), {**worker_environment(), **gpus}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True)


def worker_environment() -> dict[str, str]:
    """Return the environment of a worker process: import path, one thread, quiet libraries."""
    return {**os.environ, **ONE_THREAD, **QUIET, **GROWING_SEGMENTS, **RETURNED_MEMORY, **import_path()}


def open_executor(store: Path, settings: RunSettings, trains_on_gpu: bool = False) -> LocalExecutor:
    """Return the local executor; settings of clusters are ignored."""
    return LocalExecutor(store, settings.workers, settings.objects, settings.gpus_per_trial)
