"""The command line as a user calls it, what it leaves in a folder, and the processes that it starts."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.factories.paths import ROOT

TABLE = "experiments/table2.yaml"
SMALL_CORPUS = ("--set", "corpus.maximum_megabytes=0.5")
SMOKE = (TABLE, "--scale", "smoke", "--set", "corpus.maximum_megabytes=1", "--set", "pretraining.seeds=[1]")
"""One seed of the smoke table on half of its corpus, which is as little as its tasks can be made of."""
UNANSWERED = "http://127.0.0.1:9"
"""A tracking server that is not there: a run warns of it and ends, without the 5 CPU seconds that MLflow takes."""
SHARED = ("corpus", "tokens", "examples", "contamination", "evaluation_set")


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, what it told on the way, and how long it took."""

    folder: Path
    told: str
    seconds: float

    @property
    def table(self) -> bytes:
        return (self.folder / "report.csv").read_bytes()


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "steeplechase.commands.main", *map(str, arguments)]


def variables(mirrored: bool = False) -> dict[str, str]:
    """Return the environment of a command, in which MLflow is reached only where a test is about the mirror."""
    return {**os.environ, **({} if mirrored else {"MLFLOW_TRACKING_URI": UNANSWERED})}


def steeplechase(*arguments: str | Path, mirrored: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, for at most five minutes."""
    asked, environment = command(*arguments), variables(mirrored)
    return subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


def stages_told(text: str) -> int:
    """Return how many stages a run says that it computed."""
    return sum(line.startswith("[") for line in text.splitlines())


def lend(lender: Path, borrower: Path, kinds: tuple[str, ...]) -> None:
    """Copy the finished stages of these kinds from one results folder to another."""
    for kind in kinds:
        shutil.copytree(lender / "stages" / kind, borrower / "stages" / kind)


def start(*arguments: str | Path, mirrored: bool = False) -> "subprocess.Popen[bytes]":
    """Start the command in a process group of its own."""
    asked, environment, quiet = command(*arguments), variables(mirrored), subprocess.DEVNULL
    return subprocess.Popen(asked, cwd=ROOT, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)


def kill(process: "subprocess.Popen[bytes]") -> set[tuple[int, str]]:
    """Kill the whole process group at once and return the processes that lived under it."""
    below = descendants(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return below


def descendants(parent: int) -> set[tuple[int, str]]:
    """Return (process, start time) of all that was started under a process, in whatever session."""
    table = {pid: _status(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}  # noqa: PTH208
    found: set[int] = {parent}
    while more := {pid for pid, (_, ppid, _) in table.items() if int(ppid or 0) in found} - found:
        found |= more
    return {(pid, table[pid][2]) for pid in found - {parent}}


def alive(processes: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return those of the processes that still run."""
    states = {(pid, started): _status(pid) for pid, started in processes}
    return {one for one, (state, _, started) in states.items() if state not in ("", "Z") and started == one[1]}


def end_by_themselves(processes: set[tuple[int, str]]) -> bool:
    """Wait until all of the processes have ended; return whether they have within a minute, on a busy machine too."""
    until = time.monotonic() + 60
    while alive(processes) and time.monotonic() < until:
        time.sleep(0.1)
    return not alive(processes)


def _status(pid: int) -> tuple[str, str, str]:
    """Return a process's state, its parent and its start time; empty where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", "", ""
    return fields[0], fields[1], fields[19]
