"""Tables as data: the rows behind every format."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

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

    @classmethod
    def of(cls, name: str, rows: Iterable[Row]) -> "Table":
        """Return rows as a table with the columns of the first one; without rows it has none."""
        filled = tuple(rows)
        return cls.declared(name, tuple(filled[0]) if filled else (), filled)

    @classmethod
    def declared(cls, name: str, columns: tuple[str, ...], rows: Iterable[Row]) -> "Table":
        """Return rows as a table with these columns, without rows too."""
        filled = tuple(rows)
        assert all(tuple(row) == columns for row in filled), f"{name}: a row differs from {columns}"
        return cls(name, columns, filled)

    @property
    def filled(self) -> "tuple[Table, ...]":
        """The table; nothing without rows."""
        return (self,) if self.rows else ()


def table(name: str, columns: str, rows: Iterable[Row]) -> Table:
    """Return rows as a table with the columns that a text names, without rows too."""
    return Table.declared(name, tuple(columns.split()), rows)


def interval(difference: Difference) -> dict[str, JsonValue]:
    """Return a difference as the columns delta, low and high."""
    return {"delta": difference.delta, "low": difference.low, "high": difference.high}


def compared(difference: Difference, suffix: str = "", prefix: str = "") -> dict[str, JsonValue]:
    """Return a difference as the columns n, delta, low and high."""
    return {f"{prefix}{name}{suffix}": value for name, value in {"n": difference.n, **interval(difference)}.items()}


def spread_columns(values: Sequence[float]) -> dict[str, JsonValue]:
    """Return a sample as the columns n, mean and sd."""
    mean, sd = fmean(values) if values else None, stdev(values) if len(values) > 1 else None
    return {"n": len(values), "mean": mean, "sd": sd}


def number(cell: JsonValue) -> float | None:
    """Return a cell of a table as a finite number; None if it is not one."""
    return finite(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None
