"""The three contenders: their files, their commands, and where their tables and MLflow runs are."""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).parent
RUNNING = "RUNNING"


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
