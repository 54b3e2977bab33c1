"""Faults of what surrounds a run: disk, memory, environment; MLflow down, slow, erring, locked or deleted."""

import errno
import fcntl
import http.server
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from steeplechase.commands.terminal import mlflow_sync
from tools.faults import runs
from tools.faults.layer import ALL, SCRATCH, failing
from tools.faults.rows import Attempt
from tools.faults.warm import Command, Process, emptied, kill, orphans, until

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
MEGABYTES = 2**20
SETTINGS = {"SECONDS_BETWEEN_MIRRORS": 0.3, "LONGEST_FINISH_SECONDS": 6.0, "LONGEST_STOP_SECONDS": 3.0}
"""So that seconds of training meet the mirror as often as hours do."""
SERVERS = ("down", "slow", "hanging", "500", "503", "401", "nonsense", "redirects")


def schedules(chance: random.Random, found: Attempt) -> None:
    """Run under a fault, which may end the run; without it the same command gives the same table."""
    name, mirrored = chance.choice([*runs.EXPERIMENTS]), chance.random() < 0.3
    folder = emptied(SCRATCH / "scheduled") / name
    how = chance.choices(("failing calls", "full disk", "memory", "environment"), (8, 3, 1, 1))[0]
    if how != "full disk" and chance.random() < 0.6:
        runs.copied(name, "early", folder.parent)
    start = partial(runs.run, folder, chance.choice((1, 2)), mirrored)
    if how == "failing calls":
        first, calls = chance.randrange(1, chance.choice((4, 30, 300))), chance.choice((1, 3, 40, ALL))
        with failing(f"{folder}{chance.choice(runs.VALUES['places'])}", first, calls, chance.choice(ERRORS)):
            found.wrong += runs.wrong_end(command := start(), 0, 5, 8)
    elif how == "full disk":
        with _small_disk(folder, int(MEGABYTES * chance.uniform(0.1, 6))):
            found.wrong += runs.wrong_end(command := start(), 0, 5, 8)
    else:
        own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = own + int(chance.uniform(1, 300) * MEGABYTES)
        limited = partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit))
        masked, odd = partial(os.umask, chance.choice((0o022, 0, 0o077))), chance.choice(runs.VALUES["environments"])
        command = start(before=limited) if how == "memory" else start(before=masked, changes=odd)
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
    how, holder, changes = chance.choice((*SERVERS, *HOLDERS, *LOSSES)), None, {}
    folder = emptied(SCRATCH / "tracked") / "table"
    usual = _seconds_to_report(runs.run(folder)) if how in SERVERS else runs.LONGEST_SECONDS
    emptied(folder.parent)
    if how in SERVERS:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Server", (_Server,), {"how": how}))
        changes = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{server.server_address[1]}"}
        holder = Process(server.serve_forever) if how != "down" else None
        server.server_close()
    elif how in HOLDERS:
        holder = Process(partial(HOLDERS[how], runs.copied("table", "late", folder.parent) / "mlflow.db"))
        time.sleep(0.3)
    else:
        LOSSES[how](runs.copied("table", runs.FINISHED, folder.parent) / "mlflow.db")
    command = runs.run(folder, mirrored=True, before=_faster, changes=changes)
    seconds = _seconds_to_report(command)
    found.wrong += runs.wrong_end(command, 0) or runs.differences(folder)
    found.wrong += [f"trained {seconds:.0f} s, {usual:.0f} s undisturbed"] * (seconds > 2 * usual + 10)
    kill(holder.pid) if holder else None
    found.wrong += runs.wrong_end(runs.run(folder, mirrored=True), 0) or runs.wrong_results(folder, mirrored=True)
    found.wrong[:] = [f"{how}: {line}" for line in found.wrong + orphans()]
    found.caused[how] += 1


def _faster() -> None:
    for name, seconds in SETTINGS.items():
        setattr(mlflow_sync, name, seconds)


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


HOLDERS: dict[str, Callable[[Path], object]] = {"locked": _lock, "lock held": _hold_lock_file}
LOSSES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "emptied": lambda store: store.write_bytes(b""),
    "runs deleted": _delete_runs,
    "no artifacts": lambda store: emptied(store.with_name("artifacts")),
}
