"""Differences as cells of a grid, each with the number of its intervals."""

from reports.grid import Cell
from reports.number_format import interval_text
from reports.table import Row, number
from steeplechase.analysis.difference import Difference


def interval_cell(difference: Difference, decimals: int) -> Cell:
    """Return `Δ [low, high] (n)`."""
    return Cell(interval_text(difference, decimals), intervals=int(difference.low is not None))


def difference_cell(row: Row, decimals: int, suffix: str = "") -> Cell:
    """Return `Δ [low, high] (n)` from the columns n, delta, low and high with a suffix."""
    pairs = row[f"n{suffix}"]
    assert isinstance(pairs, int)
    delta, low, high = (number(row[f"{name}{suffix}"]) for name in ("delta", "low", "high"))
    return interval_cell(Difference(pairs, delta, low, high), decimals)
