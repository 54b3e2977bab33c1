"""Differences from a table's rows as text."""

from reports.numbers import told
from reports.statistics.effects import Difference
from reports.tables.table import Row
from runners.evidence.reading import number


def difference_cell(row: Row, decimals: int, suffix: str = "") -> str:
    """Return `Δ [low, high] (n)` from the columns n, delta, low and high with a suffix."""
    pairs = row[f"n{suffix}"]
    assert isinstance(pairs, int)
    delta, low, high = (number(row[f"{name}{suffix}"]) for name in ("delta", "low", "high"))
    return told(Difference(pairs, delta, low, high), decimals)
