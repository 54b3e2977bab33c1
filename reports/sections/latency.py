"""Latencies of a report: the table of rows, the paper's statements by FLOPs and by time, finding and conditions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure
from reports.figures.named_lines import LOGARITHMIC, LinePanel, NamedLine, Point, figure_of
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import UNKNOWN, counted, decimals_for, fixed, milliseconds_text, scientific
from reports.sanitise import printable
from reports.section import Content, Section
from reports.sections.main_table import BEST_MARK
from reports.statistics.evidence import Evidence
from reports.statistics.latency import (
    MILLISECOND,
    OPERATIONS,
    TIME,
    ArmLatency,
    LatencyEvidence,
    StatementVerdict,
    latencies_of,
    latency_table,
    statement_verdicts,
)
from reports.table import Row, table
from search_space.cost import MATMUL
from steeplechase.analysis.bootstrap import RESAMPLES, Estimate

FLOPS_DECIMALS = 3


def _content(evidence: Evidence) -> Content:
    """Return the tables and grids; without trials the speedups are the report's results."""
    found = _latencies(evidence)
    assert found is not None
    statements = list(statement_verdicts(found))
    results, before = ("latency", "latency_") if found.experiment.has_trials else ("results", "")
    rows = map(_statement_row, statements)
    orderings = table(f"{before}orderings", "statement measure at verdict n ratio low high", rows)
    grids = (*_grids(found, results), *_statement_grids(found, statements))
    named = (each if each.name == results else replace(each, name=before + each.name) for each in grids)
    return Content((latency_table(found, results), orderings), tuple(named))


def _latencies(evidence: Evidence) -> LatencyEvidence | None:
    return evidence.results.once(latencies_of)


def _grids(evidence: LatencyEvidence, name: str) -> Iterator[Grid]:
    """Yield the grids of speedups, of times and of FLOPs; none before a length has been timed."""
    if not evidence.timed:
        return
    baseline, rivals = evidence.arms[0], evidence.arms[1:]
    title = f"Speedup over {baseline} [95%]"
    speedups = _by_length(name, title, evidence, rivals, partial(_times_as_fast, evidence))
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
    if evidence.timing.faster or evidence.timing.widening:
        yield (
            "Verdicts on time: as stated here if the ratio is above 1 and marked *, opposite here if below 1 and "
            "marked *, else open here; on FLOPs: whether the ratio is above 1."
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
    rivals = [timed.speedup for timed in evidence.timed if timed.arm != evidence.timing.baseline]
    halves = [
        (speedup.high - speedup.low) / 2 for speedup in rivals if speedup.low is not None and speedup.high is not None
    ]
    return min(3, max(2, decimals_for(halves, 2)))


def interval_text(estimate: Estimate, decimals: int) -> str:
    """Return `[1.15, 1.21]`; a single round has no interval."""
    if estimate.low is None or estimate.high is None:
        return f"[{UNKNOWN}]"
    return f"[{fixed(estimate.low, decimals)}, {fixed(estimate.high, decimals)}]"


def _statement_grids(evidence: LatencyEvidence, verdicts: list[StatementVerdict]) -> Iterator[Grid]:
    if not verdicts:
        return
    columns = [Column(name, numeric=False) for name in ("the paper", "at", OPERATIONS, TIME)]
    lengths_of_statements = dict.fromkeys((tested.statement, tested.at) for tested in verdicts)
    decimals = {OPERATIONS: FLOPS_DECIMALS, TIME: speedup_decimals(evidence)}
    texts = {
        (tested.statement, tested.at, tested.measure): _verdict_text(tested, decimals[tested.measure])
        for tested in verdicts
    }
    rows = (
        [*statement_at, texts[*statement_at, OPERATIONS], texts[*statement_at, TIME]]
        for statement_at in lengths_of_statements
    )
    yield grid("orderings", "The paper's statements", columns, rows)


def _statement_row(tested: StatementVerdict) -> Row:
    return {
        "statement": tested.statement,
        "measure": tested.measure,
        "at": tested.at,
        "verdict": str(tested.verdict),
        "n": None if tested.measure == OPERATIONS else tested.ratio.n,
        "ratio": tested.ratio.value,
        "low": tested.ratio.low,
        "high": tested.ratio.high,
    }


def _verdict_text(tested: StatementVerdict, decimals: int) -> str:
    """Return the verdict with its ratio; counted FLOPs have no interval."""
    interval = "" if tested.measure == OPERATIONS else f" {interval_text(tested.ratio, decimals)}"
    return f"{tested.verdict}: {fixed(tested.ratio.value, decimals)}{interval}"


PARTS = {
    "attention": "the attention sublayer with its maps, without feed-forward network and normalisation",
    "block": "a whole block: attention, feed-forward network, both normalisations",
}
SAYS = {1: "faster", -1: "slower", 0: "no significant difference"}


def finding(evidence: LatencyEvidence) -> str:
    """Return the speedups over the baseline on the longest and the shortest input."""
    lengths, planned = evidence.lengths, evidence.timing.lengths
    if not lengths:
        return f"No result yet: none of {len(planned)} lengths has been timed."
    text = " ".join(sentence for arm in _in_question(evidence) for sentence in _sentences(evidence, arm))
    return (
        text
        if len(lengths) == len(planned)
        else f"So far, with {len(lengths)} of {len(planned)} lengths timed: {text}"
    )


def _in_question(evidence: LatencyEvidence) -> tuple[str, ...]:
    """Return the arms in the paper's orderings, or all arms, without the baseline."""
    rivals = evidence.arms[1:]
    named = {name for ordering in evidence.timing.faster for name in ordering.split(" > ")}
    return tuple(arm for arm in rivals if arm in named) or rivals


def _sentences(evidence: LatencyEvidence, arm: str) -> Iterator[str]:
    baseline, timed = evidence.timing.baseline, evidence.of_arm(arm)
    longest, shortest = timed[-1], timed[0]
    speedup = speedup_text(evidence, longest, f" as fast as {baseline}")
    sentence = f"At n = {longest.length} {arm} is {speedup} with {_flops(longest)} of its FLOPs"
    if shortest is not longest:
        sentence += f", at n = {shortest.length} {speedup_text(evidence, shortest)} with {_flops(shortest)}"
    yield f"{sentence} ({counted(longest.speedup.n, 'paired round')} per length; {measured_on(evidence)})."
    yield f"{_where(evidence, timed).capitalize()}."


def measured_on(evidence: LatencyEvidence) -> str:
    """Return what was timed and where: `the attention sublayer alone, 1 sequence per pass, cpu, 1 thread`."""
    part = "a whole block" if evidence.timing.part == "block" else "the attention sublayer alone"
    sequences = f"{counted(evidence.timing.batch_sequences, 'sequence')} per pass"
    machine = evidence.machine
    on = () if machine is None else (machine.device, counted(machine.threads, "thread"))
    return ", ".join((part, sequences, *on))


def _where(evidence: LatencyEvidence, timed: tuple[ArmLatency, ...]) -> str:
    """Return the lengths at which the arm is faster, slower, or not significantly different."""
    by_sign = {
        sign: [str(timed_arm.length) for timed_arm in timed if evidence.significance(timed_arm.speedup) == sign]
        for sign in SAYS
    }
    return "; ".join(f"{SAYS[sign]} at n = {', '.join(lengths)}" for sign, lengths in by_sign.items() if lengths)


def _flops(timed: ArmLatency) -> str:
    return fixed(timed.flops_ratio, FLOPS_DECIMALS)


def conditions(evidence: LatencyEvidence) -> Iterator[tuple[str, str]]:
    """Yield the conditions of the measurement as pairs of a term and its text."""
    timing, machine = evidence.timing, evidence.machine
    yield "Timed", PARTS[timing.part]
    yield "Sizes", _sizes(evidence)
    longest = max(timing.lengths)
    yield "Inputs", f"{timing.batch_sequences} per pass, random tokens without padding, up to {longest} tokens long"
    yield (
        "Rounds",
        f"{timing.rounds} after {timing.warm_up_rounds} warm-up rounds; arms in random order in each round",
    )
    if machine is None:
        return
    yield "Clock", f"{machine.clock}, {counted(machine.threads, 'thread')}"
    yield (
        "Arithmetic",
        f"{timing.precision}, PyTorch {machine.torch}, {machine.instructions}; {machine.operators}",
    )
    yield "Machine", f"{machine.processor}, {machine.system}, device {machine.device}, Python {machine.python}"
    yield "Code", f"models, sha256 {machine.code}"


def _sizes(evidence: LatencyEvidence) -> str:
    architecture = evidence.architectures[evidence.timing.baseline]
    sizes = f"width {architecture.width}, {architecture.heads} heads"
    block = evidence.timing.part == "block"
    return f"{sizes}, feed-forward width {architecture.feed_forward_width}" if block else sizes


def _trial_rows(evidence: Evidence) -> Iterator[Row]:
    """Yield one row per arm and length, in milliseconds of one sequence; a timing has no seeds."""
    found = _latencies(evidence)
    for timed in () if found is None else found.timed:
        yield {
            "arm": timed.arm,
            "seed": None,
            "task": f"length {timed.length}",
            "metric": "milliseconds",
            "value": timed.seconds.value * MILLISECOND,
        }


def _timed_of(evidence: Evidence) -> LatencyEvidence | None:
    found = _latencies(evidence)
    return found if found is not None and found.measured else None


def draw(evidence: LatencyEvidence) -> Figure:
    """Return the speedup of every arm by length."""
    lines = [
        NamedLine(printable(arm), [Point(each.length, *_bounds(each.speedup)) for each in evidence.of_arm(arm)])
        for arm in evidence.arms[1:]
    ]
    title, spread = f"Speedup over {printable(evidence.arms[0])}", ", 95% interval"
    label = "tokens per sequence"
    return figure_of([LinePanel(lines, title, spread, label, "{:g}".format, LOGARITHMIC, first_style=1, level=1.0)])


def _bounds(found: Estimate) -> tuple[float, float | None, float | None]:
    return found.value, found.low, found.high


FIGURE = ReportFigure(
    "latency", lambda _: "Speedup by length", _timed_of, lambda evidence: latency_table(evidence, "latency"), draw
)
SECTION = Section(
    "latency",
    _content,
    applies=lambda evidence: _latencies(evidence) is not None,
    sentence=lambda evidence: "" if (found := _latencies(evidence)) is None else finding(found),
    conditions=lambda evidence: () if (found := _latencies(evidence)) is None else conditions(found),
    values=_trial_rows,
    figure=FIGURE,
    of_trials=False,
)
