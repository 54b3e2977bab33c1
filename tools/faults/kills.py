"""SIGKILL of driver, worker or both, at random moments and at durable calls; the same command until it ends."""

import os
import random
import time
from functools import partial
from pathlib import Path

from tools.faults.layer import failing, plan
from tools.faults.row import Attempt
from tools.faults.runs import EXPERIMENTS, LONGEST_SECONDS, Reference, reference, run, wrong_end, wrong_results
from tools.faults.warm import Command, emptied, kill, orphans

LAST_SESSION = 60
"""After so many sessions a run is left alone: its last stages may need longer than the kills allow."""
SECONDS_TO_END = 10.0
MOMENTS = ("tree", "driver", "worker")
CALLS = ("caller at a durable call", "driver and caller at a durable call")


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Kill a run, and the same command again, until it has ended; judge what it gives."""
    name, mirrored = chance.choice(sorted(EXPERIMENTS)), chance.random() < 0.2
    expected, found = reference(scratch, name, mirrored), Attempt()
    folder = emptied(scratch / "killed") / name
    for session in range(LAST_SESSION + 5):
        code, command = _session(chance, scratch, (expected, folder, mirrored), found, session < LAST_SESSION)
        found.wrong += orphans(SECONDS_TO_END)
        found.wrong += wrong_end(command, code, (0, 8, -9))
        if found.wrong:
            return found
        if code == 0:
            found.wrong += wrong_results(scratch, folder, expected, mirrored)
            return found
    found.wrong.append(f"not done after {LAST_SESSION + 5} sessions")
    return found


def _session(
    chance: random.Random, scratch: Path, what: tuple[Reference, Path, bool], found: Attempt, kills: bool
) -> tuple[int | None, Command]:
    """Run the command once, to its end or a kill."""
    expected, folder, mirrored = what
    begin = partial(run, scratch, expected.file, folder, chance.choice((1, 2)), mirrored)
    if not kills:
        command = begin()
        return command.wait(LONGEST_SECONDS), command
    if chance.random() < 0.4:
        how = chance.choice(CALLS)
        group = how != CALLS[0]
        with failing(str(folder), chance.randrange(1, chance.choice((4, 40, 200)))) as calls:
            command = begin(before=_lead_group if group else None)
            code = command.wait(LONGEST_SECONDS)
            found.caused[how] += bool(calls.fired)
        return code, command
    command, wanted = begin(), chance.choice(MOMENTS)
    if wanted == "worker":
        _wait_for_workers(command)
    time.sleep(chance.uniform(0.02, chance.choice((0.4, 1.0, 2.0))))
    children = command.children
    if wanted == "worker" and children:
        kill(chance.choice(children))
        found.caused["worker"] += 1
        time.sleep(chance.uniform(0.02, 1.0))
        children = command.children
    if (code := command.ended()) is not None:
        return code, command
    kill(command.pid, *(children if wanted == "tree" else ()))
    code = command.wait(LONGEST_SECONDS)
    found.caused["tree" if wanted == "tree" else "driver"] += code == -9
    return code, command


def _wait_for_workers(command: Command) -> None:
    until = time.monotonic() + SECONDS_TO_END
    while not command.children and command.is_running and time.monotonic() < until:
        time.sleep(0.01)


def _lead_group() -> None:
    plan().group = os.getpid()
