"""The table of faults, an attempt of a row, and the file in which the results of attempts accumulate."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import yaml

RESULTS = Path(__file__).with_name("results.jsonl")


@dataclass(frozen=True)
class Row:
    """A row of rows.yaml."""

    module: str
    test: str
    reach: int
    holds: str = ""
    quick: int = 0


ROWS = {name: Row(**row) for name, row in yaml.safe_load(Path(__file__).with_name("rows.yaml").read_text()).items()}
COLUMNS = ("test", "must hold", "faults", "wrong", "mended", "bound", "seeds")


@dataclass
class Attempt:
    """What an attempt caused, by kind, and what should not have come of it; a later one replaces it."""

    row: str
    seed: int
    number: int
    commit: str
    caused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def stream(self) -> random.Random:
        """The random numbers of the attempt."""
        return random.Random(f"{self.row}/{self.seed}/{self.number}")

    @property
    def faults(self) -> int:
        """How many faults it caused; a kind with a semicolon is what a peer's faults led to."""
        return sum(count for kind, count in self.caused.items() if ";" not in kind)


def attempts(file: Path = RESULTS) -> list[Attempt]:
    """Return all results in the order in which they were found."""
    found = [Attempt(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    return [replace(each, caused=Counter(each.caused)) for each in found]


def keep(attempt: Attempt, file: Path = RESULTS) -> None:
    """Append a result."""
    with file.open("a") as results:
        results.write(json.dumps(asdict(attempt) | {"caused": +attempt.caused}) + "\n")


def standing(found: list[Attempt], row: str) -> list[Attempt]:
    """Return the last result of every attempt of a row."""
    return [*{(each.seed, each.number): each for each in found if each.row == row}.values()]


def fault_table() -> str:
    """Return the table of faults in Markdown."""
    results, rows = attempts(), [COLUMNS]
    for name, row in ROWS.items():
        last = standing(results, name)
        caused, wrong = sum(each.faults for each in last), sum(len(each.wrong) for each in last)
        mended = sum(len(each.wrong) for each in results if each.row == name) - wrong
        bound = f"{min(1.0, 3 / caused):.2%}" if caused and not wrong and name != "soak" else "–"
        seeds = ", ".join(map(str, sorted({each.seed for each in last}))) or "–"
        counts = (f"{caused:,} of {row.reach:,}", f"{wrong:,}", f"{mended:,}")
        rows += [(row.test, row.holds, *counts, bound, seeds)] if row.holds else []
    return _markdown(rows)


def standing_lines() -> list[str]:
    """Return the versions measured, which rows are below the number aimed at, and what was found wrong."""
    results = attempts()
    last = [each for name in ROWS for each in standing(results, name)]
    counts = sum((Counter({each.row: each.faults}) for each in last), Counter[str]())
    short = [f"`{name}` {counts[name]:,} of {row.reach:,}" for name, row in ROWS.items() if counts[name] < row.reach]
    commits = sorted({each.commit for each in last})
    found = [f"Measured at the commits {', '.join(commits)}."] if commits else ["Not measured yet."]
    found += [f"Below the number aimed at: {', '.join(short)}."] if short else []
    return found + [
        f"Wrong, `{each.row} --seed {each.seed} --number {each.number}`: {line}"
        for each in last
        for line in each.wrong
    ]


def peer_table() -> str:
    """Return what was counted of the peers in Markdown."""
    counts = sum((each.caused for each in standing(attempts(), "peers")), Counter[str]())
    return _markdown([("peer", "count"), *((kind, f"{count:,}") for kind, count in sorted(counts.items()))])


def _markdown(rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (rows[0], ("---",) * len(rows[0]), *rows[1:]))
