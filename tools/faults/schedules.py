"""Fault schedules: a full or failing disk at chosen durable calls, little memory, odd clocks and environments."""

import errno
import os
import random
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tools.faults.images import EARLY, images
from tools.faults.layer import ALL, failing, plan
from tools.faults.row import Attempt
from tools.faults.runs import EXPERIMENTS, LONGEST_SECONDS, reference, run, variables, wrong_end, wrong_results
from tools.faults.warm import emptied, orphans, start

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
PLACES = (
    "",
    "/stages",
    "/stages/unfinished",
    "/ledger.sqlite",
    "/report",
    "/figures",
    "/tables",
    "mlflow.db",
    "/lock",
)
MEGABYTES = 2**20
ENVIRONMENTS = (
    {"TZ": "Foo/Bar-13:47"}, {"TZ": "Pacific/Apia"}, {"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "nobody"},
    {"COLUMNS": "1"}, {"HOME": "/nowhere"}, {"PYTHONHASHSEED": "7"}, {"TERM": "dumb"}, {"TMPDIR": "/nowhere"},
    {"http_proxy": "http://127.0.0.1:7"}, {"MLFLOW_EXPERIMENT_NAME": "x", "MLFLOW_RUN_ID": "y"},
    {"OMP_NUM_THREADS": "2"}, {"XDG_CACHE_HOME": "/dev/null"},
)  # fmt: skip


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Run under a fault, which may end the run; without it the same command gives the same table."""
    name, mirrored = chance.choice(sorted(EXPERIMENTS)), chance.random() < 0.3
    expected, found = reference(scratch, name, mirrored), Attempt()
    how, begin = chance.choices([*KINDS.items()], [8, 3, 1, 1, 1])[0]
    folder = emptied(scratch / "scheduled") / name
    if how != "full disk" and chance.random() < 0.6:
        images(scratch, name).copy(EARLY, folder)
    with begin(chance, scratch, folder) as (before, changes):
        arguments = ("run", expected.file, "--out", folder, "--workers", str(chance.choice((1, 2))))
        command = start(arguments, scratch / "log", before, **variables(scratch, mirrored) | changes)
        code = command.wait(LONGEST_SECONDS)
        found.wrong += wrong_end(command, code, (0, 5, 8))
    found.wrong += orphans(10)
    found.caused[f"{how}: exit {code}"] += 1
    for _ in range(3):  # exit 8: failed stages are computed by the next run
        again = run(scratch, expected.file, folder, 1, mirrored)
        if (code := again.wait(LONGEST_SECONDS)) != 8:
            break
    found.wrong += wrong_end(again, code, (0,)) or wrong_results(scratch, folder, expected, mirrored)
    found.wrong[:] = [f"{how}: {line}" for line in found.wrong]
    return found


Begun = Iterator[tuple[object, dict[str, str]]]


@contextmanager
def _failing_calls(chance: random.Random, scratch: Path, folder: Path) -> Begun:
    path = f"{folder}{chance.choice(PLACES)}"
    first, calls = chance.randrange(1, chance.choice((4, 30, 300))), chance.choice((1, 3, 40, ALL))
    with failing(path.replace(f"{folder}mlflow", "mlflow"), first, calls, chance.choice(ERRORS)):
        yield None, {}


@contextmanager
def _full_disk(chance: random.Random, scratch: Path, folder: Path) -> Begun:
    """Put the folder on a small disk, filled up to some space; the disk has more of it afterwards."""
    place = folder if chance.random() < 0.7 else scratch / "small"
    place.mkdir(exist_ok=True)
    size = int(MEGABYTES * chance.uniform(0.1, 6))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "faults", place], check=True)
    try:
        yield None, {} if place == folder else {"TMPDIR": str(place)}
    finally:
        if place == folder:
            shutil.copytree(place, scratch / "kept", symlinks=True)
        subprocess.run(["umount", "--lazy", place], check=True)
        if place == folder:
            place.rmdir()
            (scratch / "kept").rename(place)


@contextmanager
def _little_memory(chance: random.Random, scratch: Path, folder: Path) -> Begun:
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = own + int(chance.uniform(1, 300) * MEGABYTES)
    yield partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit)), {}


@contextmanager
def _clock(chance: random.Random, scratch: Path, folder: Path) -> Begun:
    plan().clock_step = chance.choice((3600, -3600, 86400 * 365))
    try:
        yield None, {}
    finally:
        plan().clock_step = 0
        time.sleep(0.01)


@contextmanager
def _environment(chance: random.Random, scratch: Path, folder: Path) -> Begun:
    yield partial(os.umask, chance.choice((0o022, 0, 0o077))), chance.choice(ENVIRONMENTS)


KINDS = {
    "failing calls": _failing_calls,
    "full disk": _full_disk,
    "memory": _little_memory,
    "clock": _clock,
    "environment": _environment,
}
