"""`python -m tools.faults [ROW[=COUNT] ...]`: cause faults until each row has its reach; results accumulate.

python -m tools.faults                               # make faults: all rows, from where the file of results ends
python -m tools.faults kills=50 damage=100           # until these rows have caused so many faults in all
python -m tools.faults kills --seed 2 --number 7     # one attempt again; its result replaces the earlier one
python -m tools.faults --quick                       # part of make test: a few faults of every row, nothing kept
python -m tools.faults --check                       # whether forks of the warm process write what fresh processes do
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from tools.faults.layer import start_under_layer
from tools.faults.row import RESULTS, Attempt, Line, keep, lines, standing, stream
from tools.faults.rows import ROWS

SCRATCH = "FAULTS_SCRATCH"
MEMORY = Path("/dev/shm")
ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    """Cause faults; return 1 if anything went wrong that should not have."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "rows", nargs="*", metavar="ROW[=COUNT]", help="rows, and faults of each in all; all by default"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the attempts")
    parser.add_argument("--number", type=int, help="a single attempt of the seed")
    parser.add_argument("--quick", action="store_true", help="a few faults of every row; keeps no result")
    parser.add_argument("--check", action="store_true", help="compare forks with fresh processes")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of results")
    given = parser.parse_args(arguments)
    counts = {
        name: int(count or ROWS[name].reach) for name, _, count in (row.partition("=") for row in given.rows or ROWS)
    }
    home = MEMORY if os.access(MEMORY, os.W_OK) else None
    scratch = Path(os.environ.get(SCRATCH) or tempfile.mkdtemp(prefix="faults-", dir=home))
    os.environ[SCRATCH] = str(scratch)
    try:
        start_under_layer(scratch, "tools.faults", [*arguments])
        import_module("tools.faults.warm").warm_up()
        if given.check:
            return sum(_say("check", 0, 0, found) for found in import_module("tools.faults.runs").checks(scratch))
        if given.quick:
            return int(sum(_quick(name, scratch) for name in counts) > 0)
        return int(sum(_all(name, count, scratch, given) for name, count in counts.items()) > 0)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _attempt(name: str, seed: int, number: int, scratch: Path) -> Attempt:
    found: Attempt = import_module(f"tools.faults.{name}").attempt(stream(name, seed, number), scratch)
    found.wrong[:] = [line.replace(str(scratch), "").replace(str(ROOT), "") for line in found.wrong]
    _say(name, seed, number, found)
    return found


def _quick(name: str, scratch: Path) -> int:
    caused, number, wrong = 0, 0, 0
    while caused < ROWS[name].quick:
        found = _attempt(name, 0, number, scratch)
        caused, number, wrong = caused + sum(found.caused.values()), number + 1, wrong + len(found.wrong)
    return wrong


def _all(name: str, count: int, scratch: Path, given: argparse.Namespace) -> int:
    """Attempt until the row has its count; return what is wrong in these attempts."""
    wrong = 0
    while True:
        known = [line for line in standing(lines(given.results)).values() if line.row == name]
        if given.number is None and sum(sum(line.caused.values()) for line in known) >= count:
            return wrong
        numbers = [line.number for line in known if line.seed == given.seed]
        number = max(numbers, default=-1) + 1 if given.number is None else given.number
        found = _attempt(name, given.seed, number, scratch)
        keep(Line(name, given.seed, number, _commit(), dict(+found.caused), found.wrong), given.results)
        wrong += len(found.wrong)
        if given.number is not None:
            return wrong


def _say(name: str, seed: int, number: int, found: Attempt) -> int:
    told: Mapping[str, int] = +found.caused
    sys.stdout.write(
        f"{name} --seed {seed} --number {number}: {', '.join(f'{n} {kind}' for kind, n in told.items())}\n"
    )
    sys.stdout.writelines(f"  WRONG {line}\n" for line in found.wrong)
    sys.stdout.flush()
    return len(found.wrong)


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
