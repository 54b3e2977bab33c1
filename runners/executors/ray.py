"""The Ray executor: trials as one Ray Tune experiment, on this machine or on a cluster.

Tune decides nothing. Its searcher suggests the trials whose tasks are started; its scheduler forwards every result to
the driver and returns the driver's decision. The ledger is the only persistent state; Tune's own is never restored.
Ray runs in a separate process that exchanges lines of JSON with the driver.
"""

import json
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from runners.executors.local import BYTES_AT_ONCE, SECONDS_BETWEEN_POLLS, LocalExecutor, worker_environment
from runners.executors.ray_pipes import Hosting, end_session
from runners.executors.tune_adapter import CONTINUE, STOP, TuneAdapter
from runners.settings import RunSettings
from runners.work_queue import Failure, StageTask
from steeplechase.foundation.child_process import module_command
from steeplechase.foundation.devices import is_gpu
from steeplechase.foundation.errors import MachineError, StoppedError
from steeplechase.foundation.locking import Holder
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.object_store import ObjectStore

# Ray reads these during import: no usage statistics, no loggers, no checkpoints of its own, no idle workers.
SETTINGS = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_prestart_worker_first_driver": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000",
    "TUNE_RESULT_BUFFER_LENGTH": "1",
}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray's setting for one machine, also on Linux: each of its ports listens on 127.0.0.1 instead of all interfaces."""
LOG = "ray.log"
PREFIX = "steeplechase-ray-"
LONGEST_PARENT = 12
"""Characters; Ray's socket paths below this folder have a limit of 107."""
SECONDS_TO_END, SECONDS_TO_FINISH = 5.0, 10.0


LOST, NOT_STARTED = "unexpectedly: its node on this machine died", "before it had started"
FINISHED = "FINISHED"  # answer of Tune's searchers without further trials


def _temporary() -> Path:
    """Return the system's temporary folder, or /tmp if its path is too long for Ray's sockets."""
    parent = tempfile.gettempdir()
    return Path(parent if len(parent) <= LONGEST_PARENT else "/tmp")


class RayExecutor:
    """Runs trials as one Tune experiment, with actors reused across trials; Ray starts with the first of them.

    Shared stages run on local workers, but for those that train on a GPU: they run where trials do, as the driver
    need not have one. On a cluster no stage runs before every node has been probed.
    """

    def __init__(self, store: Path, settings: RunSettings, trains_on_gpu: bool = False) -> None:
        self._store, self._settings, self._trains_on_gpu = store.resolve(), settings, trains_on_gpu
        self._local = LocalExecutor(store, settings.workers, settings.objects)
        self._adapter = TuneAdapter(self._store, settings.workers, settings.objects)
        self._open = ExitStack()
        self._host: _Host | None = None
        self._log = Path()
        self._answering: str | None = None
        """The trial whose result awaits an answer."""
        self._connected = self._released = False
        """Whether Ray has started, with every node probed, and whether it has been told to run trials."""
        self._held: tuple[StageTask, Sequence[StageTask]] | None = None
        """The first task on a cluster, which starts once every node has been probed."""

    def __enter__(self) -> "RayExecutor":
        """Return self; Ray starts with the first trial, so a run with all results stored does not start it."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End every process; without an error, let Tune finish first."""
        with self._local, self._open:
            if self._host is not None and self._released and raised[:1] == (None,):
                self._finish(self._host)

    def accepts(self, task: StageTask) -> bool:
        """Return whether a task can be started now."""
        if self._held is not None:
            return False
        return (self._adapter if is_placed(task) else self._local).accepts(task)

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        """Start a task; the first task of a trial starts Ray, on a cluster the first task of all."""
        if self._settings.address is not None and not self._connected:
            self._held = task, following
            self._host = self._launched()
            return
        if not is_placed(task):
            self._local.start(task)
            return
        self._adapter.start(task, following)
        if self._host is None:
            self._host = self._launched()
        self._release(self._host)

    def end_worker(self, task: StageTask, holder: Holder | None) -> bool:
        """Kill the worker of a running task, if it is a process of this machine."""
        if self._host is None or not is_placed(task):
            return self._local.end_worker(task)
        if holder is None or not holder.here:
            return False
        try:
            os.kill(holder.process, signal.SIGKILL)
        except ProcessLookupError:  # ended meanwhile
            return True
        except PermissionError:  # of a cluster of another user
            return False
        return True

    def finished(self) -> Sequence[tuple[StageTask, Outcome | Failure]]:
        """Answer one request of Tune, or wait briefly; return the task that has ended with it, if any.

        Raises MachineError if Ray does not start, StoppedError if it ends unexpectedly.
        """
        if self._host is None or (self._connected and not self._released) or self._local.busy:
            ended = self._local.finished()
            if ended or self._host is None or not self._released:
                return ended
        if self._answering is not None:
            name, self._answering = self._answering, None
            decision = self._adapter.continue_or_stop(name)
            self._host.answer(decision)
            if decision == STOP:
                return []  # a worker is free
        request = self._host.request()
        end = None if request is None else self._end(self._host, *request)
        return [] if end is None else [end]

    def _end(self, host: "_Host", request: str, *values: Any) -> tuple[StageTask, Outcome | Failure] | None:
        """Answer a request; return the task that has ended with it, if any."""
        if request == "next":
            host.answer(self._adapter.next_trial())
        elif request == "take":
            if (end := self._adapter.take(*values)) is not None:
                self._answering = values[0]
                return end
            host.answer(CONTINUE)
        elif request == "connected":
            self._connected = True
            if self._held is not None:
                held, self._held = self._held, None
                self.start(*held)
            self._release(host)
        elif request == "died":
            host.answer(None)
            return self._adapter.died(*values)
        elif request == "refused":
            raise MachineError(list(values))
        else:
            raise self._lost({"lost": LOST, "over": "before the trials"}.get(request, request))
        return None

    def _release(self, host: "_Host") -> None:
        """Let Ray run trials, once it has started and there is one; until then shared stages run."""
        if self._connected and not self._released and self._adapter.busy:
            if not self._local.busy:
                self._local.end()
            self._released = True
            host.answer(None)

    def _launched(self) -> "_Host":
        asked = self._settings
        shared = asked.address is not None and not asked.objects
        scratch = self._open.enter_context(scratch_folder(self._store if shared else _temporary(), PREFIX))
        token = secrets.token_hex(16)
        hosting = Hosting(
            *(asked.workers, asked.address, str(scratch), token, asked.gpus_per_trial),
            *(self._trains_on_gpu, asked.objects),
        )
        if asked.objects:
            self._open.enter_context(ObjectStore(asked.objects).probe(token))
        hosting.visible.write_text(hosting.token)
        self._log = scratch / LOG
        host = _Host(hosting, self._log)
        self._open.callback(host.end)
        return host

    def _finish(self, host: "_Host") -> None:
        """Tell Tune that there are no more trials, and wait up to SECONDS_TO_FINISH for its end."""
        until = time.monotonic() + SECONDS_TO_FINISH
        if self._answering is not None:
            host.answer(self._adapter.continue_or_stop(self._answering))
        while (request := host.request()) is None or request[0] in ("next", "take", "died"):
            if time.monotonic() > until:
                return
            if request is not None:
                host.answer(FINISHED if request[0] == "next" else STOP)

    def _lost(self, ended: str) -> MachineError | StoppedError:
        """Return the error for a Ray that ended before the run did; its log is copied to the results."""
        kept = self._store.parent / LOG
        with suppress(OSError):
            shutil.copyfile(self._log, kept)
        if ended == NOT_STARTED:
            return MachineError(f"Ray ended {ended}; its log is {kept}")
        return StoppedError(
            f"Ray ended {ended}; everything finished is kept, and the same command carries on. Its log is {kept}"
        )


class _Host:
    """The host process of Ray, in its own session, as the driver sees it."""

    def __init__(self, hosting: Hosting, log: Path) -> None:
        environment = {**worker_environment(), **SETTINGS}
        if hosting.address is None:  # only this run may submit work to its Ray
            environment |= LOOPBACK | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
            environment.pop("RAY_ADDRESS", None)  # Ray would join a cluster that the run was not asked to join
        command = module_command("runners.executors.ray_host", hosting.as_text())
        self._started = False
        self._line = b""
        """What has been read of a request."""
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
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
        with suppress(subprocess.TimeoutExpired):  # one in an uninterruptible system call ends after it
            self._process.wait(SECONDS_TO_END)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def request(self) -> list[Any] | None:
        """Return the host's next request, None after a short wait without one; if it has ended, the reason."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(SECONDS_BETWEEN_POLLS):
                return None
        part = os.read(self._process.stdout.fileno(), BYTES_AT_ONCE)
        self._line += part
        if self._line.endswith(b"\n"):  # the host sends one request at a time
            line, self._line, self._started = self._line, b"", True
            request: list[Any] = json.loads(line)
            return request
        if part:
            return None
        return [f"unexpectedly with code {self._process.wait()}" if self._started else NOT_STARTED]

    def answer(self, value: object) -> None:
        """Answer the last request."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # `request` reports a host that has ended
            self._process.stdin.write(f"{json.dumps(value)}\n".encode())
            self._process.stdin.flush()


def is_placed(task: StageTask) -> bool:
    """Return whether Ray places a task: those of trials, and shared ones that need a GPU."""
    return task.trial is not None or is_gpu(task.stage.declaration.computes_on)


def open_executor(store: Path, settings: RunSettings, trains_on_gpu: bool = False) -> RayExecutor:
    """Return the Ray executor."""
    return RayExecutor(store, settings, trains_on_gpu)
