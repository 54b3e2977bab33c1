"""A warm process: it has imported everything, and the commands and workers under test are forks of it.

A fresh process spends more on imports than these runs on training. Forks are real processes, killed and waited for
as such; `reference` of `runs.py` shows that a fork writes the same bytes as a fresh process.
"""

import ctypes
import gc
import os
import pkgutil
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

from commands.main import main
from reports.figures import matplotlib_style
from runners.executors import local, worker

PACKAGES = ("commands", "configuration", "ledger", "models", "reports", "runners", "search_space", "tasks")
LIBRARIES = (  # what is imported where it is used
    *("alembic.command", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "matplotlib.textpath"),
    *(
        "mlflow.tracking",
        "optuna.samplers",
        "scipy.optimize",
        "scipy.stats",
        "sklearn.metrics",
        "tokenizers.implementations",
    ),
    *("torch._dynamo", "torch.optim", "fontTools.subset", "PIL.PngImagePlugin"),
)
NOT_IMPORTED = ("runners.executors.ray", "runners.executors.tune", "models.kernels")
DEATH_SIGNAL, SUBREAPER = 1, 36  # of prctl: a command dies with this process, and orphans become its children
TRACEBACK = "Traceback (most recent call last)"
Before = Callable[[], object]


def warm_up() -> None:
    """Import the product, let its local executor fork its workers, and adopt orphans."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.startswith(NOT_IMPORTED) and "__main__" not in module.name:
                import_module(module.name)
    for library in LIBRARIES:
        import_module(library)
    setattr(matplotlib_style, "_saved", _not_drawn)  # noqa: B010 — two thirds of the time of a report
    setattr(local, "_launch", ForkedWorker)  # noqa: B010 — in place of a Popen of a fresh process
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    gc.collect()
    gc.freeze()


def _not_drawn(draw: object, file_format: str, **settings: object) -> bytes:
    return b"<svg></svg>" if file_format == "svg" else b""


class ForkedWorker:
    """A worker process forked from its driver, with the part of a Popen that the executor uses."""

    def __init__(self) -> None:
        jobs, answers = os.pipe(), os.pipe()
        environment = local.worker_environment()
        self.pid = os.fork()
        if self.pid == 0:
            _become_worker(jobs[0], answers[1], environment)
        os.close(jobs[0])
        os.close(answers[1])
        self.stdin: IO[str] = os.fdopen(jobs[1], "w")
        self.stdout: IO[str] = os.fdopen(answers[0])

    def kill(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return its exit code, 0 where it has been waited for."""
        with suppress(ChildProcessError):
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return 0


def _become_worker(jobs: int, answers: int, environment: Mapping[str, str]) -> NoReturn:
    try:
        os.setsid()
        os.dup2(jobs, 0)
        os.dup2(answers, 1)
        os.closerange(3, 4096)  # the driver's lock among them, as exec does
        for number in range(1, signal.NSIG):
            if signal.getsignal(number) is not signal.SIG_IGN:
                with suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
        os.environ.update(environment)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        worker.main()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


@dataclass(frozen=True)
class Command:
    """A forked command: its process, and the file of what it prints."""

    pid: int
    log: Path

    @property
    def text(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    @property
    def children(self) -> list[int]:
        """The processes that it has started and that run."""
        with suppress(OSError):
            return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        return []

    @property
    def is_running(self) -> bool:
        """Whether it has not ended; its exit code is left for `ended`."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def ended(self) -> int | None:
        """Return its exit code, negative for a signal; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def wait(self, seconds: float) -> int | None:
        """Return its exit code; None, after it is killed, if it has not ended by then."""
        until, pause = time.monotonic() + seconds, 0.001
        while (code := self.ended()) is None and time.monotonic() < until:
            time.sleep(pause)
            pause = min(0.02, pause * 1.5)
        if code is None:
            kill(self.pid)
            os.waitpid(self.pid, 0)
        return code


def start(arguments: tuple[str | Path, ...], log: Path, before: Before | None = None, **variables: str) -> Command:
    """Start a command of the product as a fork; `before` is called in the fork."""
    pid = os.fork()
    if pid:
        return Command(pid, log)
    code: Any = 1
    try:
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(variables)
        tempfile.tempdir = None
        sys.argv = ["steeplechase", *map(str, arguments)]
        if before is not None:
            before()
        main()
        code = 0
    except SystemExit as end:
        code = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def kill(*processes: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to processes, whether they still run or not."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def orphans(seconds: float) -> list[str]:
    """Wait for all adopted processes to end; kill and name those that have not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            return []
    left = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    kill(*left)
    for pid in left:
        os.waitpid(pid, 0)
    return [f"process {pid} still ran after {seconds:g} s" for pid in left]


def emptied(folder: Path) -> Path:
    """Return a folder, made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
