"""Latencies of a report: the table of rows, and grids with a line per length and a column per arm."""

from collections.abc import Callable, Iterator
from functools import partial

from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import UNKNOWN, decimals_for, fixed, milliseconds_text, scientific
from reports.sanitise import printable
from reports.section import Content, Section
from reports.sections.main_table import BEST_MARK
from reports.statistics.latency import ArmLatency, LatencyEvidence, latency_table
from search_space.cost import MATMUL
from steeplechase.analysis.bootstrap import RESAMPLES, Estimate

FLOPS_DECIMALS = 3


def _content(evidence: LatencyEvidence) -> Content:
    return Content((latency_table(evidence, "results"),), tuple(_grids(evidence)))


def _grids(evidence: LatencyEvidence) -> Iterator[Grid]:
    """Yield the grids of speedups, of times and of FLOPs; none before a length has been timed."""
    if not evidence.timed:
        return
    baseline, rivals = evidence.arms[0], evidence.arms[1:]
    title = f"Speedup over {baseline} [95%]"
    speedups = _by_length("results", title, evidence, rivals, partial(_times_as_fast, evidence))
    yield with_notes(speedups, _notes(evidence))
    yield _by_length("seconds", "Milliseconds per sequence: median [95%]", evidence, evidence.arms, _milliseconds)
    title = f"FLOPs per sequence (in brackets: ratio to {baseline})"
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
    bounds = [milliseconds_text(bound) for bound in (timed.seconds.low, timed.seconds.high) if bound is not None]
    return f"{milliseconds_text(timed.seconds.value)} [{', '.join(bounds) or '?'}]"


def _operations(timed: ArmLatency) -> str:
    return f"{scientific(timed.flops)} ({fixed(timed.flops_ratio, FLOPS_DECIMALS)})"


def _intervals(evidence: LatencyEvidence) -> int:
    """Return the number of intervals in the grid of speedups."""
    speedups: list[Estimate] = [timed.speedup for timed in evidence.timed if timed.arm != evidence.arms[0]]
    return sum(estimate.low is not None for estimate in speedups)


def _notes(evidence: LatencyEvidence) -> Iterator[str]:
    baseline = printable(evidence.arms[0])
    yield f"Speedup: the median over rounds of {baseline}'s time divided by the arm's time in the same round."
    yield f"[95%]: percentile bootstrap of the median over rounds, {RESAMPLES} draws. *: {_star(evidence)}."
    yield "Intervals contain the variation between rounds of a run, not between runs, largest on short inputs."
    yield f"FLOPs, closed form: {MATMUL.rule.rpartition('; ')[0]}."
    if evidence.experiment.paper:
        yield (
            "Verdicts on time: supported if the ratio is above 1 and marked *, contradicted if below 1 and marked *, "
            "else undecided; on FLOPs: whether the ratio is above 1."
        )
    number = _intervals(evidence)
    if number > 1:
        chance = f"if no arm differed, about {number * 0.05:.1f} of them would exclude 1 by chance"
        yield f"The first table shows {number} intervals at 95%, none corrected for the others; {chance}."


def _star(evidence: LatencyEvidence) -> str:
    """Return the meaning of the mark: a larger difference than that of a control, an arm equal to the baseline."""
    if not evidence.controls or not evidence.timed:
        return "the interval excludes 1"
    names = " and ".join(map(printable, evidence.controls))
    control = f"{names}, identical to {printable(evidence.arms[0])}: at most a factor of {evidence.noise:.3f}"
    return f"the interval excludes 1 by more than that of the control {control}"


def speedup_text(evidence: LatencyEvidence, timed: ArmLatency, joined: str = "") -> str:
    """Return `1.18x [1.15, 1.21]` with the digits that the spreads support; `joined` goes before the interval."""
    decimals = speedup_decimals(evidence)
    return f"{fixed(timed.speedup.value, decimals)}x{joined} {interval_text(timed.speedup, decimals)}"


def speedup_decimals(evidence: LatencyEvidence) -> int:
    """Return 2 decimals, or 3 for narrow intervals."""
    rivals = [timed.speedup for timed in evidence.timed if timed.arm != evidence.experiment.baseline]
    halves = [
        (speedup.high - speedup.low) / 2 for speedup in rivals if speedup.low is not None and speedup.high is not None
    ]
    return min(3, max(2, decimals_for(halves, 2)))


def interval_text(estimate: Estimate, decimals: int) -> str:
    """Return `[1.15, 1.21]`; a single round has no interval."""
    if estimate.low is None or estimate.high is None:
        return f"[{UNKNOWN}]"
    return f"[{fixed(estimate.low, decimals)}, {fixed(estimate.high, decimals)}]"


SECTION = Section("results", _content)
