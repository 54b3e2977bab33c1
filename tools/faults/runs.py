"""Two experiments of seconds, what they give undisturbed and at a kill, and how a disturbed run of them is judged."""

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from difflib import ndiff
from functools import cache
from pathlib import Path

from steeplechase.ledger.database import Ledger
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.records import Status
from tools.faults.layer import SCRATCH, failing, lead_group
from tools.faults.warm import Command, emptied, orphans

FORMATS = ("report.csv", "report.json", "report.md", "report.tex")
LONGEST_SECONDS = 240.0
TRACEBACK = "Traceback (most recent call last)"
VALUES = json.loads(Path(__file__).with_name("values.json").read_text())
EXPERIMENTS = {file.stem: file for file in sorted(Path(__file__).parent.glob("experiments/*.yaml"))}
FOUND_BEFORE = "Results before the start:"
"""The line of a report that says which stages lay in the folder before its ledger began; true of a mixed folder."""
FINISHED = "finished"
MOMENTS = {"early": 0.45, "late": 0.85, FINISHED: 1.0}
"""The share of a run's durable calls on stages after which it is killed."""


def run_arguments(folder: Path, workers: int = 1, name: str = "") -> tuple[str | Path, ...]:
    """Return the command line of a run of an experiment, by default of the one that the folder is named after."""
    return "run", EXPERIMENTS[name or folder.name], "--out", folder, "--workers", str(workers)


def run(
    folder: Path, workers: int = 1, mirrored: bool = False, before: Callable[[], object] | None = None,
    changes: Mapping[str, str] | None = None, name: str = "",
) -> Command:  # fmt: skip
    """Start the run of a folder as a fork."""
    variables = {**({"MLFLOW_TRACKING_URI": ""} if mirrored else {}), **(changes or {})}
    return Command(*run_arguments(folder, workers, name), variables=variables, before=before)


@cache
def reference(name: str) -> Path:
    """Run an experiment undisturbed; return its folder, beside which the number of durable calls on stages stands."""
    folder = emptied(SCRATCH / f"reference-{name}") / name
    with failing(str(folder / "stages"), 0) as counted:
        command = run(folder, 2, mirrored=True)
        assert command.wait(LONGEST_SECONDS) == 0, command.text
        (folder.parent / "calls").write_text(str(counted.calls))
    return folder


@cache
def image(name: str, moment: str) -> Path:
    """Return the folder of a run at a moment, as a kill of driver and workers leaves it."""
    if moment == FINISHED:
        return reference(name)
    folder, calls = emptied(SCRATCH / f"image-{moment}-{name}") / name, reference(name).with_name("calls")
    with failing(str(folder / "stages"), int(MOMENTS[moment] * int(calls.read_text()))):
        run(folder, before=lead_group).wait(LONGEST_SECONDS)
    orphans()
    return folder


def copied(name: str, moment: str, place: Path) -> Path:
    """Copy an image below a place, in place of what is there, and return the copy."""
    return Path(shutil.copytree(image(name, moment), emptied(place) / name, symlinks=True))


def wrong_end(command: Command, *expected: int, seconds: float = LONGEST_SECONDS) -> list[str]:
    """Wait for a command; return what is wrong with its end: a hang, a traceback, another exit code."""
    code = command.wait(seconds)
    if code is None:
        return [f"had not ended after {seconds:g} s: {command.last_line}"]
    if TRACEBACK in command.text:
        return [f"a traceback: {command.last_line}"]
    return [] if code in expected else [f"exit {code}: {command.last_line}"]


def differences(folder: Path, name: str = "") -> list[str]:
    """Return the formats of a report that differ from an undisturbed run's of the experiment, with the first line.

    With a name, the folder may hold stages from elsewhere, and its report may say so.
    """
    expected, found = reference(name or folder.name), []
    for each in FORMATS:
        here, there = folder / each, expected / each
        text = here.read_text() if here.is_file() else ""
        compared = ndiff(there.read_text().splitlines(keepends=True), text.splitlines(keepends=True))
        lines = [line.rstrip() for line in compared if line[0] in "-+"]
        if name:
            lines = [line for line in lines if FOUND_BEFORE not in line and line[1:].strip()]
        found += [f"{each} differs: {' | '.join(line[:150] for line in lines[:2])}"] * bool(lines)
    return found


def wrong_results(folder: Path, mirrored: bool = False) -> list[str]:
    """Return what is wrong with a finished folder: table, values of examples, records, files left behind, MLflow."""
    found, undisturbed = differences(folder), reference(folder.name)
    tables = [kept_example_tables(each) for each in (folder, undisturbed)]  # verified against their records' hashes
    values = [{name: (each.replicates, each.values.tolist()) for name, each in table.items()} for table in tables]
    found += ["values of single examples differ"] * (values[0] != values[1])
    with closing(Ledger.at(folder)) as ledger:
        ended = Counter((each.trial, each.label) for each in ledger.records() if each.status is not Status.FAILED)
    found += [f"{trial} {label}: {times} records" for (trial, label), times in ended.items() if times > 1]
    unfinished = (folder / "stages" / "unfinished").glob("*")
    left = [path for path in unfinished if path.suffix != ".lock" or path.stat().st_size]
    left += [*folder.rglob("*.writing"), *(SCRATCH / "temporary").glob("steeplechase-*")]
    found += [f"left behind: {path.relative_to(SCRATCH)}" for path in left]
    if mirrored:
        runs, expected = mlflow_runs(folder), mlflow_runs(undisturbed)
        found += [f"MLflow: {times} of {each}" for each, times in ((runs - expected) + (expected - runs)).items()][:3]
    return found


def mlflow_runs(folder: Path) -> Counter[str]:
    """Return every run of MLflow: its name, identity without the study's, status and its metrics' last values."""
    query = """SELECT name, value, status, (
            SELECT json_group_array(json_array(key, value)) FROM (SELECT key, value FROM latest_metrics
            WHERE run_uuid = runs.run_uuid AND key NOT LIKE '%seconds%' ORDER BY key))
        FROM runs LEFT JOIN tags ON tags.run_uuid = runs.run_uuid AND key = 'steeplechase.identity'
        WHERE lifecycle_stage = 'active'"""
    with closing(sqlite3.connect(f"file:{folder / 'mlflow.db'}?mode=ro", uri=True)) as database:
        rows = database.execute(query).fetchall()
    return Counter(f"{name} {(identity or '').partition('/')[2]} {' '.join(rest)}" for name, identity, *rest in rows)
