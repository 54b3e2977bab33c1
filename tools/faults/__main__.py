"""`python -m tools.faults [ROW ...]`: cause faults until each row has its reach; results accumulate in a file.

python -m tools.faults                       # make faults: all rows, from where the file of results ends
python -m tools.faults kills --count 50      # one row, until it has caused 50 faults in all
python -m tools.faults kills --seed 2 --number 7    # one attempt again; its result replaces the earlier one
python -m tools.faults --quick               # part of make test: a few attempts of every row, nothing kept
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tools.faults.layer import start_under_layer
from tools.faults.row import RESULTS, Attempt, Line, keep, lines, standing, stream
from tools.faults.rows import ROWS

SCRATCH = "FAULTS_SCRATCH"
ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    """Cause faults; return 1 if anything went wrong that should not have."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows; all by default")
    parser.add_argument("--seed", type=int, default=1, help="seed of the attempts")
    parser.add_argument("--count", type=int, help="faults of each row in all; its reach by default")
    parser.add_argument("--number", type=int, help="a single attempt of the seed")
    parser.add_argument("--quick", action="store_true", help="a few faults of every row; keeps no result")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of results")
    given = parser.parse_args(arguments)
    scratch = Path(os.environ.get(SCRATCH) or tempfile.mkdtemp(prefix="faults-", dir=_memory()))
    os.environ[SCRATCH] = str(scratch)
    start_under_layer(scratch, "tools.faults", [*arguments])
    from tools.faults.warm import warm_up

    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"no row {', '.join(sorted(unknown))}; rows: {', '.join(ROWS)}")
    warm_up()
    wrong = 0
    try:
        for name in given.rows or ROWS:
            wrong += _quick(name, scratch) if given.quick else _all(name, scratch, given)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return int(wrong > 0)


def _attempt(name: str, seed: int, number: int, scratch: Path) -> Attempt:
    found: Attempt = import_module(f"tools.faults.{name}").attempt(stream(name, seed, number), scratch)
    return found


def _quick(name: str, scratch: Path) -> int:
    caused, number, wrong = 0, 0, 0
    while caused < ROWS[name].quick:
        found = _attempt(name, 0, number, scratch)
        caused, number, wrong = caused + sum(found.caused.values()), number + 1, wrong + len(found.wrong)
        _say(name, 0, number - 1, found.caused, found.wrong)
    return wrong


def _all(name: str, scratch: Path, given: argparse.Namespace) -> int:
    """Attempt until the row has its count; return what is wrong in these attempts."""
    wrong = 0
    while True:
        known = [line for line in standing(lines(given.results)).values() if line.row == name]
        caused = sum(sum(line.caused.values()) for line in known)
        if given.number is None and caused >= (given.count or ROWS[name].reach):
            return wrong
        numbers = [line.number for line in known if line.seed == given.seed]
        number = max(numbers, default=-1) + 1 if given.number is None else given.number
        found = _attempt(name, given.seed, number, scratch)
        keep(Line(name, given.seed, number, _commit(), dict(found.caused), found.wrong), given.results)
        wrong += len(found.wrong)
        _say(name, given.seed, number, found.caused, found.wrong)
        if given.number is not None:
            return wrong


def _say(name: str, seed: int, number: int, caused: dict[str, int], wrong: list[str]) -> None:
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(caused.items()) if count)
    sys.stdout.write(f"{name} --seed {seed} --number {number}: {told}\n")
    sys.stdout.writelines(f"  WRONG {line}\n" for line in wrong)
    sys.stdout.flush()


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
