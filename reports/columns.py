"""What columns show of a row: numbers, spreads, differences with their intervals, p values, titles of metrics."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from reports.grid import Cell, Column, words
from reports.number_format import NOTHING, UNKNOWN, fixed, interval_text, p_text, short
from reports.statistics.metrics import Metric
from reports.table import Row, number
from steeplechase.analysis.difference import Difference
from steeplechase.foundation.schema import JsonValue

DELTA = "Δ [95%] (n)"
Reader = Callable[[Row], str]


def known(value: JsonValue, text: Callable[[float], str]) -> str:
    """Return a number as text; a dash for what is none."""
    found = number(value)
    return NOTHING if found is None else text(found)


def number_text(value: JsonValue, decimals: int) -> str:
    """Return a number with fixed decimals; a dash for what is none."""
    return known(value, lambda found: fixed(found, decimals))


def decimal(name: str, decimals: int) -> Reader:
    """Return a reader of a number."""
    return lambda row: number_text(row[name], decimals)


def tokens(row: Row) -> str:
    """Return the tokens of a row in short units."""
    return known(row["tokens"], lambda count: short(round(count)))


def p_value(name: str) -> Reader:
    """Return a reader of a p value."""
    return lambda row: p_text(number(row[name]))


def spread_text(mean: float | None, sd: float | None, n: object, decimals: int) -> str:
    """Return `mean ± sd (n)`; a single value has no standard deviation."""
    if mean is None:
        return NOTHING
    return f"{fixed(mean, decimals)} ± {UNKNOWN if sd is None else fixed(sd, decimals)} ({n})"


def spread(decimals: int, mean: str = "mean", sd: str = "sd", n: str = "n") -> Reader:
    """Return a reader of `mean ± sd (n)`."""
    return lambda row: spread_text(number(row[mean]), number(row[sd]), row[n], decimals)


def grouped(rows: Iterable[Row], *names: str) -> list[list[Row]]:
    """Return the rows with equal values in some columns together, in the order in which these first occur."""
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return [*found.values()]


def shared(title: str, name: str = "", numeric: bool = False) -> Column:
    """Return a column of what the rows of a group have in common."""
    return Column(title, numeric=numeric, read=lambda rows: str(rows[0][name or title]))


def where(name: str, value: object, read: Reader) -> Callable[[Sequence[Row]], str]:
    """Return a reader of the row of a group that has a value; a dash without one."""
    return lambda rows: next((read(row) for row in rows if row[name] == value), NOTHING)


def interval_cell(difference: Difference, decimals: int) -> Cell:
    """Return `Δ [low, high] (n)`."""
    return Cell(interval_text(difference, decimals), intervals=int(difference.low is not None))


def difference_in(row: Row, suffix: str = "", prefix: str = "") -> Difference:
    """Return a difference from the columns n, delta, low and high of a row."""
    pairs = row[f"{prefix}n{suffix}"]
    assert isinstance(pairs, int)
    return Difference(pairs, *(number(row[f"{prefix}{name}{suffix}"]) for name in ("delta", "low", "high")))


def delta(
    decimals: int | Mapping[str, int], title: str = DELTA, group: str = "", suffix: str = "", prefix: str = ""
) -> Column:
    """Return a column of differences, with decimals for all rows or by the row's metric."""

    def read(row: Row) -> Cell:
        digits = decimals if isinstance(decimals, int) else decimals[str(row["metric"])]
        return interval_cell(difference_in(row, suffix, prefix), digits)

    return Column(title, group, read=read)


METRIC = words("metric", lambda row: Metric(str(row["metric"])).title)
"""The title of a row's metric."""
