"""A warm process: it has imported everything, and the commands and workers under test are forks of it.

A fresh process spends more on imports than these runs on training. Forks are real processes, killed and waited for
as such; that a fork writes the same bytes as a fresh process is what the runs under Ray are compared with.
"""

import ctypes
import gc
import os
import pkgutil
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from reports.figures import matplotlib_style
from runners.computing import pretrain
from runners.executors import local, worker
from steeplechase.commands.main import main
from steeplechase.tasks.corpora import documentation
from tools.faults.layer import SCRATCH

PACKAGES = ("reports", "runners", "search_space", "steeplechase")
NOT_IMPORTED = ("runners.executors.ray", "runners.executors.tune", "steeplechase.models.kernels")
IMPORTED_WHERE_USED = (
    "alembic.command", "fontTools.subset", "matplotlib.backends.backend_agg", "mlflow.tracking", "optuna.samplers",
    "scipy.optimize", "scipy.stats", "sklearn.metrics", "tokenizers.implementations", "torch._dynamo", "torch.optim",
)  # fmt: skip
NUMBERS = count()
DEATH_SIGNAL, SUBREAPER = 1, 36  # of prctl: a command dies with this process, and orphans become its children
LOGS = SCRATCH / "logs"
UNANSWERED = "http://127.0.0.1:9"
"""A tracking server that is not there: a command without MLflow."""


def warm_up() -> None:
    """Import the product, let its local executor fork its workers, and adopt orphans."""
    for folder in (SCRATCH / "temporary", LOGS):
        folder.mkdir()
    os.environ |= {"TMPDIR": str(SCRATCH / "temporary"), "XDG_CACHE_HOME": str(SCRATCH / "cache")}
    for package in PACKAGES:
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.startswith(NOT_IMPORTED) and "__main__" not in module.name:
                import_module(module.name)
    for library in IMPORTED_WHERE_USED:
        import_module(library)
    setattr(matplotlib_style, "_saved", lambda *_, **__: b"<svg></svg>")  # noqa: B010 — two thirds of a report's time
    setattr(local, "_launch", ForkedWorker)  # noqa: B010 — in place of a Popen of a fresh process
    setattr(pretrain, "SECONDS_BETWEEN_CHECKPOINTS", 0.1)  # noqa: B010 — stages of a second have none otherwise
    _read_installed_modules_once()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    gc.collect()
    gc.freeze()


def _read_installed_modules_once() -> None:
    """Keep the installed modules that the corpus of the experiments reads: two thirds of what a resumed run costs."""
    parsed = documentation.documents_of_source
    kept: dict[str, Callable[..., object]] = {"documents_of_source": lambda *given: [*parsed(*given)]}
    for name in ("standard_library", "runtime_closure", "modules_of", "documents_of_source"):
        setattr(documentation, name, cache(kept.get(name, getattr(documentation, name))))
    for _document in documentation.DocumentationCorpus(maximum_megabytes=0.5).documents(lambda *_: None):
        pass


class Process:
    """A fork that calls a function and ends; `code` is its exit code, negative for a signal, None while it runs."""

    def __init__(self, body: Callable[[], object]) -> None:
        self.code: int | None = None
        self.cpu_seconds = 0.0
        self.pid = os.fork()
        if not self.pid:
            os._exit(_ended(body))

    def poll(self) -> int | None:
        """Return the exit code, as a Popen does."""
        if self.code is None:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
            self.cpu_seconds = used.ru_utime + used.ru_stime
        return self.code

    def wait(self, seconds: float = 3600.0) -> int | None:
        """Return the exit code; None, after it is killed, if it has not ended by then."""
        if not until(seconds, lambda: self.poll() is not None):
            kill(self.pid)
            os.waitpid(self.pid, 0)
        return self.code


def _ended(body: Callable[[], object]) -> int:
    """Call a function in a process that dies with its parent; return the exit code of the process."""
    code: Any = 0
    try:
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        body()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code if isinstance(code, int) else 1


class ForkedWorker(Process):
    """A worker process forked from its driver, with the part of a Popen that the executor uses."""

    def __init__(self, gpus: Mapping[str, str]) -> None:
        jobs, answers = os.pipe(), os.pipe()
        super().__init__(partial(self._serve, jobs[0], answers[1], gpus))
        os.close(jobs[0])
        os.close(answers[1])
        self.stdin, self.stdout = os.fdopen(jobs[1], "wb"), os.fdopen(answers[0], "rb")

    def _serve(self, jobs: int, answers: int, gpus: Mapping[str, str]) -> None:
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, 0, 0, 0, 0)  # a worker ends by itself when its driver has
        os.dup2(jobs, 0)
        os.dup2(answers, 1)
        os.closerange(3, 4096)  # the driver's lock among them, as exec does
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        os.environ.update({**local.worker_environment(), **gpus})
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        worker.main()


class Command(Process):
    """A command of the product as a fork, or a fresh program; what it prints goes to a log."""

    def __init__(
        self, *words: str | Path, variables: Mapping[str, str] | None = None,
        before: Callable[[], object] | None = None, is_fresh: bool = False,
    ) -> None:  # fmt: skip
        self.log = LOGS / str(next(NUMBERS))
        line = [*map(str, words)]

        def body() -> None:
            output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
            for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
                os.dup2(file, number)
            os.environ.update({"MLFLOW_TRACKING_URI": UNANSWERED, **(variables or {})})
            if is_fresh:
                os.execvp(line[0], line)
            tempfile.tempdir, sys.argv = None, ["steeplechase", *line]
            if before is not None:
                before()
            main()

        super().__init__(body)

    @property
    def text(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def last_line(self) -> str:
        """The last line that it has printed so far."""
        return (self.text.strip().splitlines() or [""])[-1][:300]


def until(seconds: float, holds: Callable[[], object]) -> bool:
    """Wait until something holds; return False if it does not after so many seconds."""
    end, pause = time.monotonic() + seconds, 0.001
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)
    return True


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that run."""
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def below(parent: int) -> dict[int, str]:
    """Return the command line of every process below one."""
    found: dict[int, str] = {}
    for pid in children(parent):
        with suppress(OSError):
            found[pid] = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
            found |= below(pid)
    return found


def kill(*processes: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to processes, whether they still run or not."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def orphans(seconds: float = 10.0) -> list[str]:
    """Wait for all adopted processes to end; kill and name those that have not."""

    def none_left() -> bool:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return False
        return True

    if until(seconds, none_left):
        return []
    left = children(os.getpid())
    kill(*left)
    until(seconds, none_left)
    return [f"process {pid} still ran after {seconds:g} s" for pid in left]


def limit_memory(more: int) -> None:
    """Let this process have so many bytes more than it has."""
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + more, own + more))


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if there is one."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def emptied(folder: Path) -> Path:
    """Return a folder, made anew."""
    remove(folder)
    folder.mkdir(parents=True)
    return folder
