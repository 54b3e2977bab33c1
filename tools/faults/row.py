"""A row of the table of faults: its declaration, its attempts, and the file in which their results accumulate."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).with_name("results.jsonl")


@dataclass
class Attempt:
    """What one attempt found: how many faults it caused, by kind, and what should not have come of them."""

    caused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """One row: what is done, how often, and what must hold. An attempt is determined by its stream of numbers."""

    test: str
    holds: str
    reach: int
    """Faults to be caused in all."""
    quick: int
    """Faults in the tier of the tests; 0 leaves the row out."""
    attempt: Callable[[random.Random, Path], Attempt]
    """Causes faults below a scratch folder."""
    is_bounded: bool = True
    """Whether the rule of three applies: independent faults, each with a verdict."""


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


def cells(name: str, row: Row, results: list[Line]) -> Iterator[str]:
    """Yield the cells of a row of the table: test, what holds, reach, caused, wrong, bound, mended, seeds."""
    last = [line for line in standing(results).values() if line.row == name]
    caused, wrong = sum(sum(line.caused.values()) for line in last), sum(len(line.wrong) for line in last)
    before = sum(len(line.wrong) for line in results if line.row == name) - wrong
    yield row.test
    yield row.holds
    yield f"{caused:,} of {row.reach:,}"
    yield f"{wrong:,}"
    yield f"{3 / caused:.1%}" if row.is_bounded and caused and not wrong else "–"
    yield f"{before:,}"
    yield ", ".join(map(str, sorted({line.seed for line in last}))) or "–"
