"""Two experiments of seconds, what they give undisturbed, and how a disturbed run of them is judged."""

import os
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from foundation.child_process import module_command
from ledger.database import Ledger
from ledger.records import Status
from tools.faults.row import Attempt
from tools.faults.warm import TRACEBACK, Before, Command, emptied, start

FORMATS = ("report.csv", "report.json", "report.md", "report.tex")
LONGEST_SECONDS = 240.0
UNANSWERED = "http://127.0.0.1:9"
"""A tracking server that is not there: a run without MLflow."""
EXPERIMENTS = {file.stem: file for file in sorted(Path(__file__).parent.glob("*.yaml"))}


@dataclass(frozen=True)
class Reference:
    """An experiment's file and the results folder of an undisturbed run."""

    file: Path
    folder: Path

    @property
    def texts(self) -> dict[str, bytes]:
        """The report in four formats."""
        return {name: (self.folder / name).read_bytes() for name in FORMATS}


@cache
def reference(scratch: Path, name: str, mirrored: bool = False, fresh: bool = False) -> Reference:
    """Run an experiment undisturbed, as a fork of this process or as a fresh one, and return what it gives."""
    place = emptied(scratch / f"reference-{name}{'-mirrored' * mirrored}{'-fresh' * fresh}")
    file, folder = EXPERIMENTS[name], place / name
    if fresh:
        arguments = module_command("commands.main", *run_arguments(file, folder, 2))
        subprocess.run(
            arguments, check=True, capture_output=True, env=variables(scratch, mirrored) | {"LD_PRELOAD": ""}
        )
    else:
        command = run(scratch, file, folder, mirrored=mirrored)
        code = command.wait(LONGEST_SECONDS)
        assert code == 0, command.text
    return Reference(file, folder)


def checks(scratch: Path) -> Iterator[Attempt]:
    """Yield for every experiment how a fork's report differs from a fresh process's."""
    for name in EXPERIMENTS:
        fresh = reference(scratch, name, mirrored=True, fresh=True)
        compared = Counter({f"{name}: files": len(FORMATS)})
        yield Attempt(compared, differences(reference(scratch, name, mirrored=True).folder, fresh))


def run_arguments(file: Path, folder: Path, workers: int) -> tuple[str, ...]:
    """Return the command line of a run."""
    return "run", str(file), "--out", str(folder), "--workers", str(workers)


def variables(scratch: Path, mirrored: bool) -> dict[str, str]:
    """Return the environment of a run."""
    (scratch / "temporary").mkdir(exist_ok=True)
    without = {} if mirrored else {"MLFLOW_TRACKING_URI": UNANSWERED}
    places = {"TMPDIR": str(scratch / "temporary"), "XDG_CACHE_HOME": str(scratch / "cache")}
    return {**os.environ, **places, **without}


def run(
    scratch: Path, file: Path, folder: Path, workers: int = 2, mirrored: bool = False, before: Before | None = None
) -> Command:
    """Start a run as a fork."""
    return start(run_arguments(file, folder, workers), scratch / "log", before, **variables(scratch, mirrored))


def wrong_end(command: Command, code: int | None, expected: tuple[int, ...]) -> list[str]:
    """Return what is wrong with how a command ended: a hang, a traceback, another exit code."""
    said = command.text.strip().splitlines()
    last = said[-1][:300] if said else ""
    if code is None:
        return [f"had not ended after {LONGEST_SECONDS:g} s: {last}"]
    if TRACEBACK in command.text:
        return [f"a traceback: {last}"]
    return [] if code in expected else [f"exit {code}: {last}"]


def differences(folder: Path, expected: Reference) -> list[str]:
    """Return the formats of a report that differ from an undisturbed run's."""
    return [
        f"{name} differs"
        for name, text in expected.texts.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != text
    ]


def wrong_results(scratch: Path, folder: Path, expected: Reference, mirrored: bool = False) -> list[str]:
    """Return what is wrong with a finished folder: the table, a record twice, a file left behind, a run of MLflow."""
    found = differences(folder, expected)
    with closing(Ledger.at(folder)) as ledger:
        ended = Counter((each.trial, each.label) for each in ledger.records() if each.status is not Status.FAILED)
    found += [f"{trial} {label}: {times} records" for (trial, label), times in ended.items() if times > 1]
    left = [
        *folder.rglob("*.writing"),
        *(path for path in (folder / "stages" / "unfinished").glob("*") if not _is_lock(path)),
    ]
    left += (scratch / "temporary").glob("steeplechase-*")
    found += [f"left behind: {path.relative_to(scratch)}" for path in left]
    return found + (wrong_mirror(folder, expected) if mirrored else [])


def _is_lock(path: Path) -> bool:
    """Whether a path is the empty lock of a stage, which a kill between its end and the removal leaves."""
    return path.suffix == ".lock" and path.stat().st_size == 0


def wrong_mirror(folder: Path, expected: Reference) -> list[str]:
    """Return how the runs of MLflow differ from an undisturbed run's."""
    mirrored, undisturbed = mlflow_runs(folder), mlflow_runs(expected.folder)
    found = [f"{len(mirrored)} runs in MLflow, {len(undisturbed)} undisturbed"] * (len(mirrored) != len(undisturbed))
    return found + [f"MLflow: {run}" for run in sorted((mirrored - undisturbed).elements())[:3]]


def mlflow_runs(folder: Path) -> Counter[str]:
    """Return every run of MLflow: its name, its status and its metrics' last values."""
    runs = "SELECT run_uuid, name, status FROM runs WHERE lifecycle_stage = 'active'"
    values = "SELECT key, value FROM latest_metrics WHERE run_uuid = ? AND key NOT LIKE '%seconds%' ORDER BY key"
    with closing(sqlite3.connect(f"file:{folder / 'mlflow.db'}?mode=ro", uri=True)) as database:
        found = database.execute(runs).fetchall()
        return Counter(
            f"{name} {status} {database.execute(values, (run,)).fetchall()}" for run, name, status in found
        )
