"""The table of faults, an attempt of a row, and the file in which the results of attempts accumulate."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).with_name("results.jsonl")


@dataclass(frozen=True)
class Row:
    """One row: the function of its name in a module causes faults and judges them."""

    module: str
    test: str
    holds: str
    reach: int
    """Faults to be caused in all."""
    quick: int = 0
    """Faults in the tier of the tests; 0 leaves the row out."""


ROWS = {
    "kills": Row("kills", "SIGKILL on this machine: driver, worker or both, at random moments and at durable calls",
                 "same table in four formats, same values of examples, no record twice, each run of MLflow once, "
                 "0 orphans, nothing left behind", 1000, 3),
    "ray_kills": Row("kills", "SIGKILL under Ray Tune: driver, worker, raylet, GCS, host or all",
                     "same table as on this machine alone, in four formats; 0 orphans after 60 s", 100),
    "schedules": Row("schedules", "ENOSPC, EIO, EROFS, EDQUOT at durable calls; full disks; memory; environment",
                     "exit 0, 5 or 8; then the same command gives the same table", 300, 1),
    "damage": Row("damage", "Damage: bits, pages, cuts, deletions, links, swaps, older copies, in every kind of file",
                  "the same table or a refusal of one line; 0 silent, 0 tracebacks", 2000, 2),
    "moved": Row("damage", "A results folder moved, copied, cut, or mixed with another, finished or killed",
                 "the same numbers, or a refusal of one line", 200, 2),
    "hostile": Row("hostile",
                   "A stranger's experiments, results folders, object stores, archives, models, curves and predictions",
                   "0 writes outside, 0 requests, 0 code run, 0 tracebacks, 0 over 5 CPU s or 3 GB", 5000, 10),
    "at_once": Row("at_once", "Two to five drivers at once on one folder; the holder suspended or killed",
                   "exactly one runs, the others exit 6; same table", 100, 1),
    "outages": Row("outages", "MLflow down, slow, hanging, erring, locked, deleted; then back",
                   "exit 0 with the same table, training never waits; afterwards each run once", 60),
    "soak": Row("soak", "Growth over a run of 1,000 stages in one worker",
                "worker and driver at most 0.05 MB a stage; no handle, no thread", 1000),
    "peers": Row("peers", "The same kills and full disks on peers", "", 40),
}  # fmt: skip
COLUMNS = ("test", "must hold", "faults", "wrong", "mended", "bound", "seeds")


@dataclass
class Attempt:
    """What one attempt found: how many faults it caused, by kind, and what should not have come of them."""

    caused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """The result of an attempt as it is kept. A later line of the same attempt replaces an earlier one."""

    row: str
    seed: int
    number: int
    commit: str
    caused: dict[str, int]
    wrong: list[str]


def stream(row: str, seed: int, number: int) -> random.Random:
    """Return the random numbers of an attempt."""
    return random.Random(f"{row}/{seed}/{number}")


def lines(file: Path = RESULTS) -> list[Line]:
    """Return all results in the order in which they were found."""
    return [Line(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def keep(line: Line, file: Path = RESULTS) -> None:
    """Append a result."""
    with file.open("a") as results:
        results.write(json.dumps(asdict(line)) + "\n")


def standing(results: list[Line], row: str) -> list[Line]:
    """Return the last result of every attempt of a row."""
    return [*{(line.seed, line.number): line for line in results if line.row == row}.values()]


def fault_table() -> str:
    """Return the table of faults in Markdown."""
    results = lines()
    return _markdown(COLUMNS, [_cells(name, row, results) for name, row in ROWS.items() if row.holds])


def peer_table() -> str:
    """Return what was counted of the peers in Markdown."""
    counts: Counter[str] = sum((Counter(line.caused) for line in standing(lines(), "peers")), Counter())
    return _markdown(("peer", "count"), [(kind, f"{count:,}") for kind, count in sorted(counts.items())])


def _cells(name: str, row: Row, results: list[Line]) -> tuple[str, ...]:
    last = standing(results, name)
    caused, wrong = sum(sum(line.caused.values()) for line in last), sum(len(line.wrong) for line in last)
    mended = sum(len(line.wrong) for line in results if line.row == name) - wrong
    bound = f"{3 / caused:.2%}" if caused and not wrong and name != "soak" else "–"
    seeds = ", ".join(map(str, sorted({line.seed for line in last}))) or "–"
    return row.test, row.holds, f"{caused:,} of {row.reach:,}", f"{wrong:,}", f"{mended:,}", bound, seeds


def _markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(heads)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
