"""SIGKILL under Ray Tune: driver, worker, raylet, GCS or all; the same command until it ends. Ordinary processes."""

import os
import random
import subprocess
import time
from pathlib import Path

from foundation.child_process import module_command
from tools.faults.row import Attempt
from tools.faults.runs import (
    EXPERIMENTS,
    LONGEST_SECONDS,
    reference,
    run_arguments,
    variables,
    wrong_end,
    wrong_results,
)
from tools.faults.warm import Command, emptied, kill, orphans

SECONDS_TO_END = 60.0
TARGETS = {"driver": "", "worker": "ray::", "raylet": "raylet/raylet", "GCS": "gcs_server", "host": "ray_host"}
LAST_SESSION = 12


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Kill a run under Ray until it has ended; judge what it gives."""
    name, found = chance.choice(sorted(EXPERIMENTS)), Attempt()
    expected, folder = reference(scratch, name), emptied(scratch / "ray") / name
    for session in range(LAST_SESSION + 3):
        arguments = module_command("commands.main", *run_arguments(expected.file, folder, 2), "--engine", "ray")
        environment = variables(scratch, mirrored=False) | {"LD_PRELOAD": ""}
        with (scratch / "log").open("w") as log:
            process = subprocess.Popen(arguments, stdout=log, stderr=log, env=environment, start_new_session=True)
        command = Command(process.pid, scratch / "log")
        if session < LAST_SESSION:
            _kill(chance, command, found)
        code = command.wait(2 * LONGEST_SECONDS)
        found.wrong += wrong_end(command, code, (0, 5, 8, 75, -9)) + orphans(SECONDS_TO_END)
        if code == 0 or found.wrong:
            found.wrong += wrong_results(scratch, folder, expected) if code == 0 else []
            return found
    found.wrong.append(f"not done after {LAST_SESSION + 3} sessions")
    return found


def _kill(chance: random.Random, command: Command, found: Attempt) -> None:
    """Wait for Ray's workers, then a while; kill one target, or the whole tree."""
    target, until = chance.choice([*TARGETS, "tree"]), time.monotonic() + 90
    while "ray::" not in " ".join(below(command.pid).values()) and command.is_running and time.monotonic() < until:
        time.sleep(0.2)
    time.sleep(chance.uniform(0, 8))
    processes = below(command.pid)
    named = [pid for pid, line in processes.items() if TARGETS.get(target) and TARGETS[target] in line]
    chosen = [*processes, command.pid] if target == "tree" else [chance.choice(named)] if named else [command.pid]
    if command.is_running:
        kill(*chosen)
        found.caused[target if named or target == "tree" else "driver"] += 1


def below(parent: int) -> dict[int, str]:
    """Return the command line of every process below one."""
    found: dict[int, str] = {}
    for pid in Command(parent, Path(os.devnull)).children:
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found |= {pid: line, **below(pid)}
    return found
