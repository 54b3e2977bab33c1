"""Tables as data: the rows behind every format."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steeplechase.analysis.difference import Difference
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.stage_results import finite

Row = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Table:
    """Named rows that all have the same columns."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def table(name: str, columns: str, rows: Iterable[Row]) -> Table:
    """Return a table after checking that every row has these columns in this order."""
    named, filled = tuple(columns.split()), tuple(rows)
    assert all(tuple(row) == named for row in filled), f"{name}: a row differs from {named}"
    return Table(name, named, filled)


def interval(difference: Difference) -> dict[str, JsonValue]:
    """Return a difference as the columns delta, low and high."""
    return {"delta": difference.delta, "low": difference.low, "high": difference.high}


def number(cell: JsonValue) -> float | None:
    """Return a cell of a table as a finite number; None if it is not one."""
    return finite(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None
