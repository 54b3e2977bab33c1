"""A contender's job as the system sees it: its processes, their CPU time, and a kill of all of them at once.

Of the three contenders it has the files, the commands, and where their tables and MLflow runs are.
"""

import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).parent
RUNNING = "RUNNING"
SECONDS_BETWEEN_READINGS = 0.5
TICKS = os.sysconf("SC_CLK_TCK")
MARK = "WHOLE_JOB"
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "RAY_USAGE_STATS_ENABLED": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_OFFLINE": "1",
}


class _Output(Protocol):
    @property
    def output(self) -> str: ...


@dataclass(frozen=True)
class Contender:
    """A way of running the sweep."""

    name: str
    files: tuple[str, ...]
    """What a user writes, in this folder."""
    arguments: tuple[str, ...]
    """Behind the interpreter."""
    store: str
    """The MLflow database in the job's folder."""
    table: Callable[[Path, _Output], str]
    """The table of a finished job, as text."""

    @property
    def command(self) -> tuple[str, ...]:
        """The command line of a start."""
        return (sys.executable, *self.arguments)

    @property
    def lines(self) -> int:
        """Lines that a user writes, without empty ones, comments and docstrings' first lines."""
        texts = [(HERE / name).read_text(encoding="utf-8") for name in self.files]
        lines = (line.strip() for text in texts for line in text.splitlines())
        return sum(bool(line) and not line.startswith(("#", '"""')) for line in lines)

    def runs(self, folder: Path) -> int:
        """Return the number of runs in its MLflow store."""
        return len(self._statuses(folder))

    def unfinished_runs(self, folder: Path) -> int:
        """Return the number of runs that its MLflow store still shows as running."""
        return self._statuses(folder).count(RUNNING)

    def _statuses(self, folder: Path) -> list[str]:
        with closing(sqlite3.connect(folder / self.store)) as store:
            return [status for (status,) in store.execute("select status from runs")]


def _kept_csv(folder: Path, output: _Output) -> str:
    return (folder / "sweep" / "report.csv").read_text(encoding="utf-8")


def _printed(folder: Path, output: _Output) -> str:
    return "\n".join(line for line in output.output.splitlines() if " ± " in line)


STEEPLECHASE = Contender(
    "Steeplechase",
    ("experiment.yaml",),
    ("-m", "steeplechase.commands.main", "run", "experiment.yaml", "--workers", "1", "--out", "sweep"),
    "sweep/mlflow.db",
    _kept_csv,
)
TRAINER = Contender(
    "Optuna + Trainer + MLflow",
    ("trainer_trial.py", "optuna_trainer.py"),
    ("optuna_trainer.py",),
    "mlflow.db",
    _printed,
)
RAY_TUNE = Contender(
    "Ray Tune + MLflow callback",
    ("trainer_trial.py", "ray_tune.py"),
    ("ray_tune.py",),
    "mlflow.db",
    _printed,
)
CONTENDERS = (STEEPLECHASE, TRAINER, RAY_TUNE)


@dataclass(frozen=True)
class Usage:
    """What one or more starts of a job took."""

    wall_seconds: float
    cpu_seconds: float
    """Of every process that the job started: what its processes waited for, or the sum of the last readings of all of
    them (every half second) where that is more, as with daemons, for which nobody waits."""
    output: str
    """The standard output of the last start."""


class Job:
    """A contender in a folder of its own; started again, it goes on as the contender can."""

    def __init__(self, contender: Contender, folder: Path, data: Path) -> None:
        self.contender, self.folder = contender, folder
        folder.mkdir()
        (folder / "data").symlink_to(data, target_is_directory=True)
        for name in contender.files:
            shutil.copy(HERE / name, folder)

    def run(self, kill_after: float | None = None) -> Usage:
        """Start the job and wait; kill all its processes after so many seconds of CPU time. Raises on failure."""
        mark, started = secrets.token_hex(8), time.monotonic()
        times: dict[int, float] = {}
        log = self.folder / "output.txt"
        with log.open("wb") as output, (self.folder / "errors.txt").open("ab") as errors:
            environment = {**os.environ, **ENVIRONMENT, MARK: mark}
            process = subprocess.Popen(
                self.contender.command, cwd=self.folder, stdout=output, stderr=errors, env=environment
            )
            while (reaped := ended(process)) is None:
                times |= processor_times(mark)
                if kill_after is not None and sum(times.values()) >= kill_after:
                    kill(mark)
                time.sleep(SECONDS_BETWEEN_READINGS)
        wall = time.monotonic() - started
        while left := processor_times(mark):  # what a driver left behind
            times |= left
            kill(mark)
            time.sleep(SECONDS_BETWEEN_READINGS)
        if kill_after is None and process.returncode:
            last = (self.folder / "errors.txt").read_text(errors="replace").splitlines()[-5:]
            raise RuntimeError("\n".join([f"{self.contender.name} ended with {process.returncode}:", *last]))
        return Usage(wall, max(reaped, sum(times.values())), log.read_text(encoding="utf-8"))


def ended(process: subprocess.Popen[bytes]) -> float | None:
    """Return the CPU seconds of an ended process and of all descendants that were waited for; None while it runs."""
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if not pid:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def processor_times(mark: str) -> dict[int, float]:
    """Return the CPU time in seconds of each living process whose environment has the mark."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended meanwhile, or of another user
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                found[int(folder.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    return found


def kill(mark: str) -> None:
    """Kill every process whose environment has the mark, as a power failure would."""
    for process in processor_times(mark):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
