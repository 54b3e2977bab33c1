"""Files of a stranger: experiments, results folders, object stores, archives, imports, curves and predictions."""

import os
import random
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.faults import hostile_files, hostile_folders
from tools.faults.row import Attempt
from tools.faults.runs import UNANSWERED, variables
from tools.faults.warm import TRACEBACK, Command, emptied, kill, orphans, start
from tools.faults.watch import watch

A_BATCH = 50
ENDS = (0, 2, 3, 4, 5, 6, 7, 8)
CPU_SECONDS, WALL_SECONDS = 5.0, 60.0
MORE_MEMORY = 3 * 2**30
RUNS = 4.0
"""A run may take so many times the seconds of another command."""
CASES: dict[str, tuple[int, Callable[[random.Random, Path, Path], tuple[str | Path, ...]]]] = {  # with their shares
    "experiments": (8, hostile_files.experiment),
    "curves": (5, hostile_files.curves),
    "predictions": (4, hostile_files.predictions),
    "imports": (4, hostile_files.imported),
    "archives": (1, hostile_files.archive),
    "folders": (6, hostile_folders.results),
    "stores": (1, hostile_folders.store),
}


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Give some hostile files to the commands that read them; judge how each ends and what it did."""
    found = Attempt()
    for _ in range(A_BATCH):
        kind = chance.choices([*CASES], [share for share, _ in CASES.values()])[0]
        place = emptied(scratch / "hostile")
        case, home = place / "case", place / "home"
        case.mkdir()
        home.mkdir()
        (place / "secret").write_text("a line that no command may read")
        arguments = CASES[kind][1](chance, scratch, case)
        before = _listed(place)
        report, environment = scratch / "watched", variables(scratch, mirrored=False) | {"HOME": str(home)}
        report.write_text("")
        allowed = (case, place / "out", home, scratch / "temporary", scratch / "log")
        guard = partial(_guard, case, allowed, report)
        command = start(arguments, scratch / "log", guard, **environment)
        wrong = _end(command, RUNS if arguments[0] == "run" else 1.0)
        wrong += report.read_text().splitlines()[:3]
        wrong += [f"changed {path}" for path in sorted(before ^ _listed(place))][:3]
        found.caused[kind] += 1
        found.wrong += [f"{kind}, {' '.join(map(str, arguments[:2]))}: {line}" for line in wrong]
        found.wrong += orphans(10)
    return found


def _guard(case: Path, allowed: tuple[Path, ...], report: Path) -> None:
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + MORE_MEMORY, own + MORE_MEMORY))
    watch(case, allowed, report, int(UNANSWERED.rpartition(":")[2]))


def _end(command: Command, times: float) -> list[str]:
    """Return what is wrong with an end: a hang, a traceback, an undocumented exit code."""
    until = time.monotonic() + WALL_SECONDS * times
    while not (ended := os.wait4(command.pid, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.004)
    if not ended[0]:
        kill(command.pid)
        os.waitpid(command.pid, 0)
        return [f"had not ended after {WALL_SECONDS * times:g} s"]
    seconds, code = ended[2].ru_utime + ended[2].ru_stime, os.waitstatus_to_exitcode(ended[1])
    said = command.text.strip().splitlines()
    last = said[-1][:200] if said else ""
    found = [f"{seconds:.1f} CPU s"] if seconds > CPU_SECONDS * times else []
    if TRACEBACK in command.text:
        return [*found, f"a traceback: {last}"]
    return found if code in ENDS else [*found, f"exit {code}: {last}"]


def _listed(place: Path) -> set[tuple[str, int]]:
    """Return every file beside the case and the output, with its size."""
    outside = (path for path in place.rglob("*") if path.relative_to(place).parts[0] not in ("case", "out"))
    return {(str(path.relative_to(place)), path.lstat().st_size) for path in outside if not path.is_dir()}
