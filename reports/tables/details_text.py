"""Differences as cells: each knows how many intervals it shows."""

from reports.numbers import told
from reports.statistics.effects import Difference
from reports.tables.grids import Cell
from reports.tables.table import Row
from runners.evidence.reading import number


def interval_cell(difference: Difference, decimals: int) -> Cell:
    """Return `Δ [low, high] (n)`."""
    return Cell(told(difference, decimals), intervals=int(difference.low is not None))


def difference_cell(row: Row, decimals: int, suffix: str = "") -> Cell:
    """Return `Δ [low, high] (n)` from the columns n, delta, low and high with a suffix."""
    pairs = row[f"n{suffix}"]
    assert isinstance(pairs, int)
    delta, low, high = (number(row[f"{name}{suffix}"]) for name in ("delta", "low", "high"))
    return interval_cell(Difference(pairs, delta, low, high), decimals)
