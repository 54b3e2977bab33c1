"""Differences from a table's rows as text."""

from reports.numbers import told
from reports.reading import number
from reports.statistics.effects import Difference
from reports.tables.table import Row


def difference_cell(row: Row, decimals: int, suffix: str = "") -> str:
    """Return `Δ [low, high] (n)` from the columns n, delta, low and high with a suffix."""
    pairs = row[f"n{suffix}"]
    assert isinstance(pairs, int)
    delta, low, high = (number(row[f"{name}{suffix}"]) for name in ("delta", "low", "high"))
    return told(Difference(pairs, delta, low, high), decimals)
