"""The table of faults: a row, its module of the same name, what is done, how often, and what must hold."""

from collections.abc import Iterable
from dataclasses import dataclass

from tools.faults.row import Line, lines, standing


@dataclass(frozen=True)
class Row:
    """One row. Its module's `attempt(chance, scratch)` causes faults below a scratch folder and judges them."""

    test: str
    holds: str
    reach: int
    """Faults to be caused in all."""
    quick: int = 0
    """Faults in the tier of the tests; 0 leaves the row out."""
    is_judged: bool = True


ROWS = {
    "kills": Row(
        "SIGKILL on this machine: driver, worker or both, at random moments and at durable calls",
        "same table in four formats, no record twice, 0 orphans, nothing left behind",
        reach=1000,
        quick=8,
    ),
    "ray_kills": Row(
        "SIGKILL under Ray Tune: driver, worker, raylet, GCS, host or all",
        "same table as on this machine alone, in four formats; 0 orphans after 60 s",
        reach=100,
    ),
    "schedules": Row(
        "ENOSPC, EIO, EROFS, EDQUOT at durable calls; full disks; memory; clock; environment",
        "exit 0, 5 or 8; then the same command gives the same table",
        reach=300,
        quick=1,
    ),
    "damage": Row(
        "Damage: bits, pages, cuts, deletions, links, swaps, older copies, in every kind of file and folder",
        "the same table or a refusal of one line; 0 silent, 0 tracebacks",
        reach=2000,
        quick=10,
    ),
    "moved": Row(
        "A results folder moved, copied, cut, or mixed with another, finished or killed",
        "the same numbers, or a refusal of one line",
        reach=200,
        quick=5,
    ),
    "hostile": Row(
        "A stranger's experiments, results folders, object stores, archives, models, curves and predictions",
        "0 writes outside, 0 requests, 0 code run, 0 tracebacks, 0 over 5 CPU s or 3 GB",
        reach=5000,
        quick=25,
    ),
    "at_once": Row(
        "Two to five drivers at once on one folder; the holder suspended or killed",
        "exactly one runs, the others exit 6; same table",
        reach=100,
        quick=1,
    ),
    "outages": Row(
        "MLflow down, slow, hanging, erring, locked, deleted; then back",
        "exit 0 with the same table, training never waits; afterwards each run once",
        reach=60,
    ),
    "soak": Row(
        "Growth over a run of 1,000 stages in one worker",
        "worker and driver at most 0.05 MB a stage; no handle, no thread",
        reach=1000,
    ),
    "peers": Row("The same kills and full disks on peers", "shown below", reach=40, is_judged=False),
}
COLUMNS = ("test", "must hold", "faults", "wrong", "mended", "bound", "seeds")


def fault_table() -> str:
    """Return the table of faults in Markdown."""
    results = lines()
    return _markdown(COLUMNS, [_cells(name, row, results) for name, row in ROWS.items() if row.is_judged])


def peer_table() -> str:
    """Return what was counted of the peers in Markdown."""
    peers = [line for line in standing(lines()).values() if line.row == "peers"]
    kinds = sorted({kind for line in peers for kind in line.caused})
    return _markdown(
        ("peer", "count"), [(kind, f"{sum(line.caused.get(kind, 0) for line in peers):,}") for kind in kinds]
    )


def _cells(name: str, row: Row, results: list[Line]) -> tuple[str, ...]:
    last = [line for line in standing(results).values() if line.row == name]
    caused, wrong = sum(sum(line.caused.values()) for line in last), sum(len(line.wrong) for line in last)
    mended = sum(len(line.wrong) for line in results if line.row == name) - wrong
    bound = f"{3 / caused:.2%}" if caused and not wrong and name != "soak" else "–"
    seeds = ", ".join(map(str, sorted({line.seed for line in last}))) or "–"
    return row.test, row.holds, f"{caused:,} of {row.reach:,}", f"{wrong:,}", f"{mended:,}", bound, seeds


def _markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(heads)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
