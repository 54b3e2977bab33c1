"""The tables of a timing report: as data for programs, and as grids with a line per length and a column per arm."""

from collections.abc import Callable, Iterator
from functools import partial

from analysis.bootstrap import Estimate
from reports.grid import Cell, Column, Grid, grid
from reports.number_format import fixed, scientific
from reports.sections.main_table import BEST_MARK
from reports.table import Row, Table, table
from reports.timing.analysis import Analysis, Timed
from reports.timing.finding import FLOPS_DECIMALS, interval_text, speedup_decimals, speedup_text
from reports.timing.verdicts import OPERATIONS, TIME, Judged, judged

RESULT_COLUMNS = "arm length n milliseconds low high times_as_fast times_low times_high flops flops_ratio"
MILLISECOND = 1e3


def tables_of(analysis: Analysis) -> Iterator[Table]:
    """Yield the times and the verdicts as data."""
    yield table("results", RESULT_COLUMNS, map(_result, analysis.timed))
    yield table("orderings", "statement measure at verdict n ratio low high", map(_verdict, judged(analysis)))


def grids_of(analysis: Analysis) -> Iterator[Grid]:
    """Yield how fast, how long, how many operations, and the verdicts, each where there is something to show."""
    if not analysis.timed:
        return
    baseline, rivals = analysis.arms[0], analysis.arms[1:]
    yield _by_length(
        "results", f"Times as fast as {baseline} [95%]", analysis, rivals, partial(_times_as_fast, analysis)
    )
    yield _by_length("seconds", "Milliseconds per sequence: median [95%]", analysis, analysis.arms, _milliseconds)
    title = f"FLOPs per sequence (in brackets: of {baseline}'s)"
    yield _by_length("operations", title, analysis, analysis.arms, _operations)
    verdicts = list(judged(analysis))
    if verdicts:
        columns = [Column(name, numeric=False) for name in ("the paper", "at", OPERATIONS, TIME)]
        places = dict.fromkeys((found.statement, found.at) for found in verdicts)
        decimals = {OPERATIONS: FLOPS_DECIMALS, TIME: speedup_decimals(analysis)}
        said = {
            (found.statement, found.at, found.measure): _told(found, decimals[found.measure]) for found in verdicts
        }
        rows = ([*place, said[*place, OPERATIONS], said[*place, TIME]] for place in places)
        yield grid("orderings", "The paper's statements", columns, rows)


def _result(timed: Timed) -> Row:
    seconds, speedup = timed.seconds, timed.speedup
    return {
        "arm": timed.arm,
        "length": timed.length,
        "n": seconds.n,
        "milliseconds": seconds.value * MILLISECOND,
        "low": None if seconds.low is None else seconds.low * MILLISECOND,
        "high": None if seconds.high is None else seconds.high * MILLISECOND,
        "times_as_fast": speedup.value,
        "times_low": speedup.low,
        "times_high": speedup.high,
        "flops": timed.flops,
        "flops_ratio": timed.flops_ratio,
    }


def _verdict(found: Judged) -> Row:
    return {
        "statement": found.statement,
        "measure": found.measure,
        "at": found.at,
        "verdict": str(found.verdict),
        "n": None if found.measure == OPERATIONS else found.ratio.n,
        "ratio": found.ratio.value,
        "low": found.ratio.low,
        "high": found.ratio.high,
    }


def _told(found: Judged, decimals: int) -> str:
    """Return the verdict with its ratio; what is counted has no interval."""
    interval = "" if found.measure == OPERATIONS else f" {interval_text(found.ratio, decimals)}"
    return f"{found.verdict}: {fixed(found.ratio.value, decimals)}{interval}"


def _by_length(
    name: str, title: str, analysis: Analysis, arms: tuple[str, ...], cell: Callable[[Timed], str | Cell]
) -> Grid:
    at = {(timed.length, timed.arm): cell(timed) for timed in analysis.timed}
    columns = [Column("n", numeric=False), *map(Column, arms)]
    rows = ([str(length), *(at[length, arm] for arm in arms)] for length in analysis.lengths)
    return grid(name, title, columns, rows)


def _times_as_fast(analysis: Analysis, timed: Timed) -> Cell:
    told = analysis.told(timed.speedup)
    return Cell(speedup_text(analysis, timed) + (BEST_MARK if told else ""), told > 0)


def _milliseconds(timed: Timed) -> str:
    shown = [_in_milliseconds(bound) for bound in (timed.seconds.low, timed.seconds.high) if bound is not None]
    return f"{_in_milliseconds(timed.seconds.value)} [{', '.join(shown) or '?'}]"


def _in_milliseconds(seconds: float) -> str:
    """Return three digits, whatever the size."""
    took = seconds * MILLISECOND
    return fixed(took, 3 if took < 1 else 2 if took < 10 else 1 if took < 100 else 0)


def _operations(timed: Timed) -> str:
    return f"{scientific(timed.flops)} ({fixed(timed.flops_ratio, FLOPS_DECIMALS)})"


def intervals(analysis: Analysis) -> int:
    """Return how many intervals of ratios stand in the main grid."""
    found: list[Estimate] = [timed.speedup for timed in analysis.timed if timed.arm != analysis.arms[0]]
    return sum(estimate.low is not None for estimate in found)
