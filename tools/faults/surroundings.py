"""What surrounds a run: disk, memory, environment; MLflow down, slow, erring, locked or deleted; its own growth."""

import errno
import fcntl
import http.server
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

import numpy as np
import yaml

from steeplechase.commands.terminal import mlflow_sync
from tools.faults import runs
from tools.faults.layer import ALL, SCRATCH, failing
from tools.faults.rows import ROWS, Attempt
from tools.faults.warm import Command, Process, children, emptied, kill, limit_memory, orphans, until

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
MEGABYTES = 2**20
SETTINGS = {"SECONDS_BETWEEN_MIRRORS": 0.3, "LONGEST_FINISH_SECONDS": 6.0, "LONGEST_STOP_SECONDS": 3.0}
"""So that seconds of training meet the mirror as often as hours do."""
SOAK_SECONDS = 300.0
GROWTH = {"MB": 0.05, "handles": 0.001, "threads": 0.001}
"""The most that each may grow by in a stage."""
SERVERS = ("down", "slow", "hanging", "500", "503", "401", "nonsense", "redirects")


def schedules(chance: random.Random, found: Attempt) -> None:
    """Run under a fault, which may end the run; without it the same command gives the same table."""
    name, mirrored = chance.choice([*runs.EXPERIMENTS]), chance.random() < 0.3
    folder = emptied(SCRATCH / "scheduled") / name
    how = chance.choices(("failing calls", "full disk", "memory", "environment"), (8, 3, 1, 1))[0]
    if how != "full disk" and chance.random() < 0.6:
        runs.copied(name, "early", folder.parent)
    disturbed: AbstractContextManager[object] = nullcontext()
    before: Callable[[], object] | None = None
    changes: dict[str, str] = {}
    if how == "failing calls":
        first, calls = chance.randrange(1, chance.choice((4, 30, 300))), chance.choice((1, 3, 40, ALL))
        place = f"{folder}{chance.choice(runs.VALUES['places'])}"
        disturbed = failing(place, first, calls, chance.choice(ERRORS))
    elif how == "full disk":
        disturbed = _small_disk(folder, int(MEGABYTES * chance.uniform(0.1, 6)))
    elif how == "memory":
        before = partial(limit_memory, int(MEGABYTES * chance.uniform(1, 300)))
    else:
        before = partial(os.umask, chance.choice((0o022, 0, 0o077)))
        changes = chance.choice(runs.VALUES["environments"])
    with disturbed:
        command = runs.run(folder, chance.choice((1, 2)), mirrored, before, changes=changes)
        found.wrong += runs.wrong_end(command, 0, 5, 8)
    found.caused[f"{how}: exit {command.code}"] += 1
    for _ in range(3):  # exit 8: failed stages are computed by the next run
        again = runs.run(folder, 1, mirrored)
        if again.wait(runs.LONGEST_SECONDS) != 8:
            break
    found.wrong += orphans() + (runs.wrong_end(again, 0) or runs.wrong_results(folder, mirrored))
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


def outages(chance: random.Random, found: Attempt) -> None:
    """Disturb the tracking of a run, let MLflow come back, and compare both its runs and the table."""
    how, holder, changes, usual = chance.choice((*SERVERS, *STORES)), None, {}, runs.LONGEST_SECONDS
    folder = emptied(SCRATCH / "tracked") / "table"
    if how in SERVERS:
        usual = _seconds_to_report(runs.run(folder))
        emptied(folder.parent)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Server", (_Server,), {"how": how}))
        changes = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{server.server_address[1]}"}
        holder = Process(server.serve_forever) if how != "down" else None
        server.server_close()
    else:
        moment, disturb = STORES[how]
        store = runs.copied("table", moment, folder.parent) / "mlflow.db"
        holder = disturbing = Process(partial(disturb, store))
        until(1.0, lambda: disturbing.poll() is not None)
        assert not disturbing.code
    command = runs.run(folder, mirrored=True, before=partial(vars(mlflow_sync).update, SETTINGS), changes=changes)
    seconds = _seconds_to_report(command)
    found.wrong += runs.wrong_end(command, 0) or runs.differences(folder)
    found.wrong += [f"trained {seconds:.0f} s, {usual:.0f} s undisturbed"] * (seconds > 2 * usual + 10)
    if holder is not None and holder.poll() is None:
        kill(holder.pid)
    found.wrong += runs.wrong_end(runs.run(folder, mirrored=True), 0) or runs.wrong_results(folder, mirrored=True)
    found.wrong[:] = [f"{how}: {line}" for line in found.wrong + orphans()]
    found.caused[how] += 1


def _seconds_to_report(command: Command) -> float:
    started, report = time.monotonic(), SCRATCH / "tracked" / "table" / "report.html"
    until(runs.LONGEST_SECONDS, lambda: report.exists() or command.poll() is not None)
    seconds = time.monotonic() - started
    command.wait(runs.LONGEST_SECONDS)
    return seconds


class _Server(http.server.BaseHTTPRequestHandler):
    how = ""

    def do_GET(self) -> None:
        time.sleep({"slow": 2.0, "hanging": 3600.0}.get(self.how, 0.0))
        self.send_response(int(self.how) if self.how.isdigit() else 302 if self.how == "redirects" else 200)
        self.send_header("Location", self.path)
        self.end_headers()
        self.wfile.write(b"{}" if self.how == "slow" else b"<html>")

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def _lock(store: Path) -> None:
    database = sqlite3.connect(store)
    database.execute("BEGIN EXCLUSIVE")
    signal.pause()


def _hold_lock_file(store: Path) -> None:
    fcntl.flock(os.open(f"{store}.lock", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
    signal.pause()


def _delete_runs(store: Path) -> None:
    with closing(sqlite3.connect(store)) as database:
        database.execute("UPDATE runs SET lifecycle_stage = 'deleted' WHERE rowid % 2 = 0")
        database.commit()


STORES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "locked": ("late", _lock),
    "lock held": ("late", _hold_lock_file),
    "deleted": (runs.FINISHED, Path.unlink),
    "emptied": (runs.FINISHED, lambda store: store.write_bytes(b"")),
    "runs deleted": (runs.FINISHED, _delete_runs),
    "no artifacts": (runs.FINISHED, lambda store: emptied(store.with_name("artifacts"))),
}
"""What a process does to the store of a run at a moment; two hold it until they are killed."""


def soak(chance: random.Random, found: Attempt) -> None:
    """Train models of many widths in one worker for five minutes; judge the slopes over the stages reached."""
    folder, samples = emptied(SCRATCH / "soak") / "soak", list[list[float]]()
    arms = {f"w{number}": {"feed_forward_width": 32 + number} for number in range(1, ROWS["soak"].reach // 2)}
    pretraining = {"tokens": 1024, "seeds": [1, 2], "held_out_sequences": 8, "evaluations": 1}
    changes = {"pretraining": pretraining, "design": {"kind": "list", "arms": arms}, "fine_tuning": {}}
    runs.EXPERIMENTS["soak"] = file = folder.with_suffix(".yaml")
    file.write_text(yaml.safe_dump(yaml.safe_load(runs.EXPERIMENTS["table"].read_text()) | changes))
    command, end = runs.run(folder), time.monotonic() + SOAK_SECONDS
    del runs.EXPERIMENTS["soak"]
    while command.poll() is None and time.monotonic() < end:
        time.sleep(0.5)
        stages = len([*folder.glob("stages/pretrain/*")])
        if (workers := children(command.pid)) and (not samples or stages > samples[-1][0]):
            with suppress(OSError):
                samples.append([stages, *_size(workers[0]), *_size(command.pid)])
    kill(command.pid)
    found.wrong += runs.wrong_end(command, 0, -9) + orphans()
    if samples:
        found.caused["stages"] += int(samples[-1][0])
        late = np.array(samples[len(samples) // 5 :])
        for place, slope in enumerate(np.polyfit(late[:, 0], late[:, 1:], 1)[0]):
            (what, limit), who = [*GROWTH.items()][place % 3], ("worker", "driver")[place // 3]
            found.wrong += [f"{what} of the {who} a stage: {slope:+.4f}"] * bool(slope > limit)


def _size(pid: int) -> tuple[float, int, int]:
    """Return a process's resident megabytes, handles and threads."""
    place = Path(f"/proc/{pid}")
    megabytes = int((place / "statm").read_text().split()[1]) * 4096 / 1e6
    return megabytes, len([*(place / "fd").iterdir()]), len([*(place / "task").iterdir()])
