"""The table of faults, an attempt of a row, and the file in which the results of attempts accumulate."""

import json
from collections import Counter
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
