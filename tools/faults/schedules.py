"""Fault schedules: a full or failing disk at chosen durable calls, little memory, odd environments."""

import errno
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tools.faults.layer import ALL, SCRATCH, failing
from tools.faults.rows import Attempt
from tools.faults.runs import EXPERIMENTS, LONGEST_SECONDS, copied, run, wrong_end, wrong_results
from tools.faults.warm import emptied, orphans

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
PLACES = (
    "",
    "/stages",
    "/stages/unfinished",
    "/ledger.sqlite",
    "/report",
    "/figures",
    "/tables",
    "/mlflow.db",
    "/lock",
)
MEGABYTES = 2**20
ENVIRONMENTS = (
    {"TZ": "Foo/Bar-13:47"}, {"TZ": "Pacific/Apia"}, {"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "nobody"},
    {"COLUMNS": "1"}, {"HOME": "/nowhere"}, {"PYTHONHASHSEED": "7"}, {"TERM": "dumb"}, {"TMPDIR": "/nowhere"},
    {"http_proxy": "http://127.0.0.1:7"}, {"MLFLOW_EXPERIMENT_NAME": "x", "MLFLOW_RUN_ID": "y"},
    {"OMP_NUM_THREADS": "2"}, {"XDG_CACHE_HOME": "/dev/null"},
)  # fmt: skip


def schedules(chance: random.Random, found: Attempt) -> None:
    """Run under a fault, which may end the run; without it the same command gives the same table."""
    name, mirrored = chance.choice([*EXPERIMENTS]), chance.random() < 0.3
    folder = emptied(SCRATCH / "scheduled") / name
    how = chance.choices(("failing calls", "full disk", "memory", "environment"), (8, 3, 1, 1))[0]
    if how != "full disk" and chance.random() < 0.6:
        copied(name, "early", folder.parent)
    start = partial(run, folder, chance.choice((1, 2)), mirrored)
    if how == "failing calls":
        first, calls = chance.randrange(1, chance.choice((4, 30, 300))), chance.choice((1, 3, 40, ALL))
        with failing(f"{folder}{chance.choice(PLACES)}", first, calls, chance.choice(ERRORS)):
            found.wrong += wrong_end(command := start(), 0, 5, 8)
    elif how == "full disk":
        with _small_disk(folder, int(MEGABYTES * chance.uniform(0.1, 6))):
            found.wrong += wrong_end(command := start(), 0, 5, 8)
    else:
        own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = own + int(chance.uniform(1, 300) * MEGABYTES)
        limited = partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit))
        odd = {"before": partial(os.umask, chance.choice((0o022, 0, 0o077))), "changes": chance.choice(ENVIRONMENTS)}
        command = start(before=limited) if how == "memory" else start(**odd)
        found.wrong += wrong_end(command, 0, 5, 8)
    found.caused[f"{how}: exit {command.code}"] += 1
    for _ in range(3):  # exit 8: failed stages are computed by the next run
        again = run(folder, 1, mirrored)
        if again.wait(LONGEST_SECONDS) != 8:
            break
    found.wrong += orphans() + (wrong_end(again, 0) or wrong_results(folder, mirrored))
    found.wrong[:] = [f"{how}: {line}" for line in found.wrong]


@contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[None]:
    """Put a folder on a disk of so many bytes; it has more afterwards."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "faults", folder], check=True)
    try:
        yield
    finally:
        kept = shutil.copytree(folder, SCRATCH / "kept", symlinks=True)
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()
        Path(kept).rename(folder)
