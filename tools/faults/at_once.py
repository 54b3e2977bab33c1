"""Drivers started at once on one results folder, on new and on killed runs; the holder suspended or killed."""

import random
import signal
import time
from pathlib import Path

from tools.faults.images import EARLY, LATE, images
from tools.faults.row import Attempt
from tools.faults.runs import LONGEST_SECONDS, differences, reference, run_arguments, variables, wrong_end
from tools.faults.warm import Command, emptied, kill, orphans, start

REFUSED = 6
NAME = "table"


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Start two to five drivers within milliseconds; exactly one may run, and the table is the same."""
    found, moment = Attempt(), chance.choice(("new", EARLY, LATE, LATE))
    place = emptied(scratch / "at_once")
    expected = reference(scratch, NAME) if moment == "new" else images(scratch, NAME).expected
    folder = place / NAME if moment == "new" else images(scratch, NAME).copy(moment, place / NAME)

    def driver(number: int) -> Command:
        log = place / f"log{number}"
        return start(run_arguments(expected.file, folder, 1), log, None, **variables(scratch, mirrored=False))

    drivers = []
    for number in range(chance.randrange(2, 6)):
        drivers.append(driver(number))
        time.sleep(chance.choice((0.0, 0.0, 0.01, 0.1)))
    holder = chance.choice(("left alone", "suspended", "killed"))
    found.caused[f"{moment}, holder {holder}"] += 1
    ended: dict[int, int | None] = {}
    until = time.monotonic() + LONGEST_SECONDS
    while len(ended) < len(drivers) - 1 and time.monotonic() < until:
        ended |= {each.pid: code for each in drivers if each.pid not in ended and (code := each.ended()) is not None}
        time.sleep(0.01)
    (winner, *_), refused = [each for each in drivers if ended.get(each.pid) != REFUSED], list(ended.values())
    if holder == "killed":
        kill(winner.pid)
        winner.wait(LONGEST_SECONDS)
        winner = driver(8)  # at once, while the workers of the killed one may still end
    elif holder == "suspended":
        kill(winner.pid, number=signal.SIGSTOP)
        late = driver(9)
        found.wrong += wrong_end(late, late.wait(LONGEST_SECONDS), (REFUSED,))
        kill(winner.pid, number=signal.SIGCONT)
    found.wrong += [f"a second driver ended with {code}" for code in refused if code != REFUSED]
    found.wrong += wrong_end(winner, winner.wait(LONGEST_SECONDS), (0,)) if winner.pid not in ended else []
    found.wrong += [*differences(folder, expected), *orphans(10)]
    return found
