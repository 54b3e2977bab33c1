"""`python -m tools.faults [ROW[=COUNT] ...]`: cause faults until each row has its reach; results accumulate.

python -m tools.faults                               # make faults: all rows, from where the file of results ends
python -m tools.faults kills=50 damage=100           # until these rows have caused so many faults in all
python -m tools.faults kills --seed 2 --number 7     # one attempt again; its result replaces the earlier one
python -m tools.faults --quick                       # part of make test: a few faults of some rows, nothing kept
"""

import argparse
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tools.faults.layer import SCRATCH, start_under_layer
from tools.faults.rows import RESULTS, ROWS, Attempt, attempts, keep, standing

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    """Cause faults; return 1 if anything went wrong that should not have."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW[=COUNT]", help="rows, and faults of each in all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the attempts")
    parser.add_argument("--number", type=int, help="a single attempt of the seed")
    parser.add_argument("--quick", action="store_true", help="a few faults of some rows; keeps no result")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of results")
    given = parser.parse_args(arguments)
    asked = [row.partition("=")[::2] for row in given.rows or ROWS]
    start_under_layer([*arguments])
    try:
        import_module("tools.faults.warm").warm_up()
        if given.quick:
            import_module("tools.faults.runs").EXPERIMENTS.pop("search")
            vars(import_module("tools.faults.kills"))["LAST_SESSION"] = 3
            given.seed, given.results = 0, SCRATCH / "quick"
            asked = [(name, str(row.quick)) for name, row in ROWS.items()]
        return int(sum(_until(int(count or ROWS[name].reach), name, given) for name, count in asked) > 0)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


def _attempted(name: str, seed: int, number: int) -> Attempt:
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    found = Attempt(name, seed, number, commit)
    chance = random.Random(f"{name}/{seed}/{number}")
    getattr(import_module(f"tools.faults.{ROWS[name].module}"), name)(chance, found)
    found.wrong[:] = [line.replace(str(SCRATCH), "").replace(str(ROOT), "") for line in found.wrong]
    told = ", ".join(f"{count} {kind}" for kind, count in (+found.caused).items())
    sys.stdout.write(f"{name} --seed {seed} --number {number}: {told}\n")
    sys.stdout.writelines(f"  WRONG {line}\n" for line in found.wrong)
    sys.stdout.flush()
    return found


def _until(count: int, name: str, given: argparse.Namespace) -> int:
    """Attempt until a row has its count; return what is wrong in these attempts."""
    wrong = 0
    while True:
        known = standing(attempts(given.results), name)
        if given.number is None and sum(each.faults for each in known) >= count:
            return wrong
        free = max((each.number for each in known if each.seed == given.seed), default=-1) + 1
        found = _attempted(name, given.seed, free if given.number is None else given.number)
        keep(found, given.results)
        wrong += len(found.wrong)
        if given.number is not None:
            return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
