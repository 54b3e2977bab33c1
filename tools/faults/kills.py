"""SIGKILL of driver, worker or all, at random moments and at durable calls; several drivers at once on one folder."""

import random
import signal
import time
from functools import partial
from pathlib import Path

from steeplechase.foundation.child_process import module_command
from tools.faults import runs
from tools.faults.layer import SCRATCH, failing, lead_group
from tools.faults.rows import Attempt
from tools.faults.warm import Command, children, emptied, kill, orphans, until

REFUSED = 6
LAST_SESSION, LAST_SESSION_UNDER_RAY = 60, 4
"""After so many sessions a run is left alone: its last stages may need longer than the kills allow."""
CALLS = ("caller at a durable call", "driver and caller at a durable call")
TARGETS = {"driver": "", "worker": "ray::", "raylet": "raylet/raylet", "GCS": "gcs_server", "host": "ray_host"}


def kills(chance: random.Random, found: Attempt) -> None:
    """Kill a run, and the same command again, until it has ended; judge what it gives."""
    folder = emptied(SCRATCH / "killed") / chance.choice([*runs.EXPERIMENTS])
    mirrored = chance.random() < 0.2
    for session in range(LAST_SESSION + 5):
        begin = partial(runs.run, folder, chance.choice((1, 2)), mirrored)
        if session >= LAST_SESSION:
            command = begin()
        elif chance.random() < 0.4:
            how = chance.choice(CALLS)
            with failing(str(folder), chance.randrange(1, chance.choice((4, 40, 200)))) as calls:
                command = begin(before=None if how == CALLS[0] else lead_group)
                command.wait(runs.LONGEST_SECONDS)
                found.caused[how] += bool(calls.fired)
        else:
            command = begin()
            _kill(chance, command, found)
        found.wrong += runs.wrong_end(command, 0, 8, -9) + orphans()
        if command.code == 0 or found.wrong:
            found.wrong[:] = found.wrong or runs.wrong_results(folder, mirrored)
            return
    found.wrong.append(f"not done after {LAST_SESSION + 5} sessions: exit {command.code}: {command.last_line}")


def _kill(chance: random.Random, command: Command, found: Attempt) -> None:
    """Kill a worker, or the driver, or both, a while after the start; then the driver in any case."""
    target = chance.choice(("tree", "driver", "worker"))
    if target == "worker":
        until(10.0, lambda: children(command.pid) or command.poll() is not None)
    time.sleep(chance.uniform(0.02, chance.choice((0.4, 1.0, 2.0))))
    if target == "worker" and (workers := children(command.pid)):
        kill(chance.choice(workers))
        found.caused["worker"] += 1
        time.sleep(chance.uniform(0.02, 1.0))
    if command.poll() is None:
        kill(command.pid, *(children(command.pid) if target == "tree" else ()))
        found.caused["tree" if target == "tree" else "driver"] += command.wait() == -9


def ray_kills(chance: random.Random, found: Attempt) -> None:
    """Kill parts of a run under Ray until it has ended; judge what it gives. Ordinary processes."""
    folder = emptied(SCRATCH / "ray") / chance.choice([*runs.EXPERIMENTS])
    for session in range(LAST_SESSION_UNDER_RAY + 3):
        words = module_command("steeplechase.commands.main", *map(str, runs.run_arguments(folder, 2)))
        command = Command((*words, "--engine", "ray"), runs.variables() | {"LD_PRELOAD": ""}, is_fresh=True)
        if session < LAST_SESSION_UNDER_RAY:
            _kill_under_ray(chance, command, found)
        found.wrong += runs.wrong_end(command, 0, 5, 8, 75, -9, seconds=2 * runs.LONGEST_SECONDS) + orphans(60.0)
        if command.code == 0 or found.wrong:
            found.wrong[:] = found.wrong or runs.wrong_results(folder)
            return
    sessions = LAST_SESSION_UNDER_RAY + 3
    found.wrong.append(f"not done after {sessions} sessions: exit {command.code}: {command.last_line}")


def _kill_under_ray(chance: random.Random, command: Command, found: Attempt) -> None:
    """Kill some workers, which Ray replaces, then another part or the whole tree."""
    for target in (*("worker",) * chance.randrange(4), chance.choice([*TARGETS, "tree"])):
        until(240.0, lambda: command.poll() is not None or "ray::" in " ".join(below(command.pid).values()))
        time.sleep(chance.uniform(0, 8))
        processes = below(command.pid)
        named = [pid for pid, line in processes.items() if TARGETS.get(target) and TARGETS[target] in line]
        if command.poll() is None:
            kill(*([*processes, command.pid] if target == "tree" else [chance.choice(named or [command.pid])]))
            found.caused[target if named or target == "tree" else "driver"] += 1


def at_once(chance: random.Random, found: Attempt) -> None:
    """Start two to five drivers within milliseconds; exactly one may run, and the table is the same."""
    moment, holder = chance.choice(("new", "early", "late")), chance.choice(("left alone", "suspended", "killed"))
    place = emptied(SCRATCH / "at_once")
    folder = place / "table" if moment == "new" else runs.copied("table", moment, place)
    logs = emptied(SCRATCH / "logs")
    drivers = []
    for number in range(chance.randrange(2, 6)):
        drivers.append(runs.run(folder, log=logs / str(number)))
        time.sleep(chance.choice((0.0, 0.0, 0.01, 0.1)))

    def left() -> list[Command]:
        return [driver for driver in drivers if driver.poll() is None]

    until(runs.LONGEST_SECONDS, lambda: len(left()) <= 1)
    winner = next((driver for driver in drivers if driver.poll() != REFUSED), drivers[0])
    if winner.code is not None:
        holder = "ended"
    elif holder == "killed":
        kill(winner.pid)
        winner.wait()
        winner = runs.run(folder, log=logs / "after")  # at once, while the workers of the killed one may still end
    elif holder == "suspended":
        kill(winner.pid, number=signal.SIGSTOP)
        found.wrong += runs.wrong_end(runs.run(folder, log=logs / "late"), REFUSED)
        kill(winner.pid, number=signal.SIGCONT)
    found.caused[f"{moment}, holder {holder}"] += 1
    ran = [driver for driver in drivers if driver.code != REFUSED]
    found.wrong += [f"{len(ran)} drivers ran"] * (len(ran) != 1 and holder != "ended")
    found.wrong += runs.wrong_end(winner, 0) + runs.wrong_results(folder) + orphans()


def below(parent: int) -> dict[int, str]:
    """Return the command line of every process below one."""
    found: dict[int, str] = {}
    for pid in children(parent):
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found |= below(pid)
    return found
