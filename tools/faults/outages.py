"""MLflow down, slow, hanging, erring, locked or deleted under a run; then back, and the same command."""

import fcntl
import http.server
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

from commands.terminal import mlflow_sync
from tools.faults.images import images
from tools.faults.row import Attempt
from tools.faults.runs import (
    LONGEST_SECONDS,
    Reference,
    differences,
    reference,
    run,
    run_arguments,
    variables,
    wrong_end,
    wrong_results,
)
from tools.faults.warm import Command, emptied, kill, orphans, start

NAME = "table"
SETTINGS = {"SECONDS_BETWEEN_MIRRORS": 0.3, "LONGEST_FINISH_SECONDS": 6.0, "LONGEST_STOP_SECONDS": 3.0}
"""So that seconds of training meet the mirror as often as hours do."""
SERVERS = ("down", "slow", "hanging", "500", "503", "401", "nonsense", "redirects")
STORES = ("locked", "lock held", "deleted", "emptied", "runs deleted", "no artifacts")


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Disturb the tracking of a run, let MLflow come back, and compare both its runs and the table."""
    how, found, expected = chance.choice((*SERVERS, *STORES)), Attempt(), reference(scratch, NAME, mirrored=True)
    folder = emptied(scratch / "tracked") / NAME
    found.caused[how] += 1
    if how in SERVERS:
        wrong = _without_server(scratch, expected, folder, how)
    else:
        images(scratch, NAME).copy("finished" if how not in ("locked", "lock held") else "late", folder)
        wrong = _spoilt(chance, scratch, expected, folder, how)
    again = run(scratch, expected.file, folder, 1, mirrored=True)
    wrong += wrong_end(again, again.wait(LONGEST_SECONDS), (0,)) or wrong_results(scratch, folder, expected, True)
    found.wrong += [f"{how}: {line}" for line in wrong] + orphans(10)
    return found


def _faster() -> None:
    for name, seconds in SETTINGS.items():
        setattr(mlflow_sync, name, seconds)


def _without_server(scratch: Path, expected: Reference, folder: Path, how: str) -> list[str]:
    """Run against a server that misbehaves: the same table, as soon as without a server."""
    arguments = run_arguments(expected.file, folder, 1)
    started = time.monotonic()
    start(arguments, scratch / "log", None, **variables(scratch, mirrored=False)).wait(LONGEST_SECONDS)
    usual = time.monotonic() - started
    emptied(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Server", (_Server,), {"how": how}))
    serving = 0 if how == "down" else _forked(server.serve_forever)
    uri = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{server.server_address[1]}"}
    server.server_close()
    started = time.monotonic()
    command = start(arguments, scratch / "log", _faster, **variables(scratch, mirrored=True) | uri)
    while (
        not (folder / "report.html").exists() and command.is_running and time.monotonic() < started + LONGEST_SECONDS
    ):
        time.sleep(0.02)
    trained = time.monotonic() - started
    wrong = wrong_end(command, command.wait(LONGEST_SECONDS), (0,)) or differences(folder, expected)
    kill(serving) if serving else None
    return wrong + [f"trained {trained:.0f} s, {usual:.0f} s undisturbed"] * (trained > 2 * usual + 10)


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


def _spoilt(chance: random.Random, scratch: Path, expected: Reference, folder: Path, how: str) -> list[str]:
    """Lock the store of a killed run, or take from that of a finished one, and run."""
    store, holder = folder / "mlflow.db", 0
    if how == "locked":
        holder = _forked(lambda: (sqlite3.connect(store).execute("BEGIN EXCLUSIVE"), signal.pause()))
    elif how == "lock held":
        lock = os.open(f"{store}.lock", os.O_RDWR | os.O_CREAT)
        holder = _forked(lambda: (fcntl.flock(lock, fcntl.LOCK_EX), signal.pause()))
        os.close(lock)
    elif how == "runs deleted":
        with sqlite3.connect(store) as database:
            database.execute(
                "UPDATE runs SET lifecycle_stage = 'deleted' WHERE rowid % ? = 0", (chance.choice((1, 2)),)
            )
    elif how == "no artifacts":
        emptied(folder / "artifacts")
    else:
        store.unlink() if how == "deleted" else store.write_bytes(b"")
    time.sleep(0.3 if holder else 0.0)
    command: Command = start(
        run_arguments(expected.file, folder, 1), scratch / "log", _faster, **variables(scratch, mirrored=True)
    )
    wrong = wrong_end(command, command.wait(LONGEST_SECONDS), (0,)) or differences(folder, expected)
    kill(holder) if holder else None
    return wrong


def _forked(serve: object) -> int:
    if pid := os.fork():
        return pid
    try:
        serve()  # type: ignore[operator]
    finally:
        os._exit(0)
