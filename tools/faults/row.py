"""An attempt of a row, and the file in which the results of attempts accumulate."""

import json
import random
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).with_name("results.jsonl")


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


def standing(results: list[Line]) -> dict[tuple[str, int, int], Line]:
    """Return the last result of every attempt."""
    return {(line.row, line.seed, line.number): line for line in results}
