"""Drivers started at once on one results folder, on new and on killed runs; the holder suspended or killed."""

import random
import signal
import time

from tools.faults.layer import SCRATCH
from tools.faults.rows import Attempt
from tools.faults.runs import LONGEST_SECONDS, copied, run, wrong_end, wrong_results
from tools.faults.warm import Command, emptied, kill, orphans, until

REFUSED = 6


def at_once(chance: random.Random, found: Attempt) -> None:
    """Start two to five drivers within milliseconds; exactly one may run, and the table is the same."""
    moment, holder = chance.choice(("new", "early", "late")), chance.choice(("left alone", "suspended", "killed"))
    place = emptied(SCRATCH / "at_once")
    folder = place / "table" if moment == "new" else copied("table", moment, place)
    logs = emptied(SCRATCH / "logs")
    drivers = []
    for number in range(chance.randrange(2, 6)):
        drivers.append(run(folder, log=logs / str(number)))
        time.sleep(chance.choice((0.0, 0.0, 0.01, 0.1)))

    def left() -> list[Command]:
        return [driver for driver in drivers if driver.poll() is None]

    until(LONGEST_SECONDS, lambda: len(left()) <= 1)
    winner = next((driver for driver in drivers if driver.poll() != REFUSED), drivers[0])
    if winner.code is not None:
        holder = "ended"
    elif holder == "killed":
        kill(winner.pid)
        winner.wait()
        winner = run(folder, log=logs / "after")  # at once, while the workers of the killed one may still end
    elif holder == "suspended":
        kill(winner.pid, number=signal.SIGSTOP)
        found.wrong += wrong_end(run(folder, log=logs / "late"), REFUSED)
        kill(winner.pid, number=signal.SIGCONT)
    found.caused[f"{moment}, holder {holder}"] += 1
    ran = [driver for driver in drivers if driver.code != REFUSED]
    found.wrong += [f"{len(ran)} drivers ran"] * (len(ran) != 1 and holder != "ended")
    found.wrong += wrong_end(winner, 0) + wrong_results(folder) + orphans()
