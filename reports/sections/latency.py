"""Latencies in a report: as data for programs, and as grids with a line per length and a column per arm."""

from collections.abc import Callable, Iterator
from functools import partial

from analysis.bootstrap import RESAMPLES, Estimate
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import UNKNOWN, decimals_for, fixed, milliseconds_text, scientific
from reports.sanitise import printable
from reports.section import Content, Section
from reports.sections.main_table import BEST_MARK
from reports.statistics.latency import ArmLatency, LatencyEvidence, latency_table
from search_space.cost import MATMUL

FLOPS_DECIMALS = 3


def _content(evidence: LatencyEvidence) -> Content:
    return Content((latency_table(evidence, "results"),), tuple(_grids(evidence)))


def _grids(evidence: LatencyEvidence) -> Iterator[Grid]:
    """Yield how fast, how long and how many operations, where something has been timed."""
    if not evidence.timed:
        return
    baseline, rivals = evidence.arms[0], evidence.arms[1:]
    title = f"Times as fast as {baseline} [95%]"
    first = _by_length("results", title, evidence, rivals, partial(_times_as_fast, evidence))
    yield with_notes(first, _notes(evidence))
    yield _by_length("seconds", "Milliseconds per sequence: median [95%]", evidence, evidence.arms, _milliseconds)
    title = f"FLOPs per sequence (in brackets: of {baseline}'s)"
    yield _by_length("operations", title, evidence, evidence.arms, _operations)


def _by_length(
    name: str, title: str, evidence: LatencyEvidence, arms: tuple[str, ...], cell: Callable[[ArmLatency], str | Cell]
) -> Grid:
    at = {(timed.length, timed.arm): cell(timed) for timed in evidence.timed}
    columns = [Column("n", numeric=False), *map(Column, arms)]
    rows = ([str(length), *(at[length, arm] for arm in arms)] for length in evidence.lengths)
    return grid(name, title, columns, rows)


def _times_as_fast(evidence: LatencyEvidence, timed: ArmLatency) -> Cell:
    sign = evidence.significance(timed.speedup)
    return Cell(speedup_text(evidence, timed) + (BEST_MARK if sign else ""), sign > 0)


def _milliseconds(timed: ArmLatency) -> str:
    shown = [milliseconds_text(bound) for bound in (timed.seconds.low, timed.seconds.high) if bound is not None]
    return f"{milliseconds_text(timed.seconds.value)} [{', '.join(shown) or '?'}]"


def _operations(timed: ArmLatency) -> str:
    return f"{scientific(timed.flops)} ({fixed(timed.flops_ratio, FLOPS_DECIMALS)})"


def _intervals(evidence: LatencyEvidence) -> int:
    """Return how many intervals of ratios the first grid shows."""
    found: list[Estimate] = [timed.speedup for timed in evidence.timed if timed.arm != evidence.arms[0]]
    return sum(estimate.low is not None for estimate in found)


def _notes(evidence: LatencyEvidence) -> Iterator[str]:
    baseline = printable(evidence.arms[0])
    yield f"Times as fast: the median over rounds of {baseline}'s time over the arm's own, both taken in one round."
    yield f"[95%]: percentile bootstrap of the median over rounds, {RESAMPLES} draws. *: {_star(evidence)}."
    yield "Intervals speak of the rounds of one run; another run may leave them, most of all on short inputs."
    yield f"FLOPs, closed form: {MATMUL.rule.rpartition('; ')[0]}."
    if evidence.experiment.paper:
        yield "Verdicts: the paper is right where the ratio is above 1; undecided where there would be no *."
    number = _intervals(evidence)
    if number > 1:
        chance = f"if nothing differed, about {number * 0.05:.1f} of them would exclude 1 by chance"
        yield f"The first table shows {number} intervals at 95%, none corrected for the others; {chance}."


def _star(evidence: LatencyEvidence) -> str:
    """Return what counts as a difference: more than a control, which is the baseline under another name, shows."""
    if not evidence.controls or not evidence.timed:
        return "the interval excludes 1"
    names = " and ".join(map(printable, evidence.controls))
    same = f"{names}, the same as {printable(evidence.arms[0])}, does at most: a factor of {evidence.noise:.3f}"
    return f"the interval leaves 1 further than that of {same}"


def speedup_text(evidence: LatencyEvidence, timed: ArmLatency, joined: str = "") -> str:
    """Return `1.18x [1.15, 1.21]` with the digits that the spreads support; `joined` goes before the interval."""
    decimals = speedup_decimals(evidence)
    return f"{fixed(timed.speedup.value, decimals)}x{joined} {interval_text(timed.speedup, decimals)}"


def speedup_decimals(evidence: LatencyEvidence) -> int:
    """Return 2, or 3 where the intervals are narrow enough."""
    rivals = [timed.speedup for timed in evidence.timed if timed.arm != evidence.experiment.baseline]
    halves = [(each.high - each.low) / 2 for each in rivals if each.low is not None and each.high is not None]
    return min(3, max(2, decimals_for(halves, 2)))


def interval_text(estimate: Estimate, decimals: int) -> str:
    """Return `[1.15, 1.21]`; a single round tells no interval."""
    if estimate.low is None or estimate.high is None:
        return f"[{UNKNOWN}]"
    return f"[{fixed(estimate.low, decimals)}, {fixed(estimate.high, decimals)}]"


SECTION = Section("results", _content)
