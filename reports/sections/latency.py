"""Latencies of a report: the table of rows, the paper's statements by FLOPs and by time, finding and conditions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure
from reports.figures.named_lines import LOGARITHMIC, LinePanel, NamedLine, Point, figure_of
from reports.number_format import UNKNOWN, counted, decimals_for, fixed, milliseconds_text, scientific
from reports.section import Content, Section
from reports.sections.main_table import BEST_MARK
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
from reports.statistics.results import Results
from reports.table import Cell, Column, Grid, Row, Table, printable, shown, table, words
from search_space.cost import MATMUL
from steeplechase.analysis.bootstrap import RESAMPLES, Estimate

FLOPS_DECIMALS = 3
PARTS = {
    "attention": "the attention sublayer with its maps, without feed-forward network and normalisation",
    "block": "a whole block: attention, feed-forward network, both normalisations",
}
SAYS = {1: "faster", -1: "slower", 0: "no significant difference"}


def _content(results: Results) -> Content:
    """Return the tables and grids; without trials the speedups are the report's results."""
    found = results.once(latencies_of)
    assert found is not None
    statements = list(statement_verdicts(found))
    name, before = ("latency", "latency_") if found.experiment.has_trials else ("results", "")
    orderings = table(f"{before}orderings", "statement measure at verdict n ratio low high", map(_row, statements))
    grids = (*_grids(found, name), *_statement_grid(found, statements))
    named = (each if each.name == name else replace(each, name=before + each.name) for each in grids)
    return Content((latency_table(found, name), orderings), tuple(named))


def _grids(evidence: LatencyEvidence, name: str) -> Iterator[Grid]:
    """Yield the grids of speedups, of times and of FLOPs; none before a length has been timed."""
    baseline, rivals = evidence.arms[0], evidence.arms[1:]
    at = {(timed.length, timed.arm): timed for timed in evidence.timed}

    def at_length(arm: str, cell: Callable[[ArmLatency], str | Cell], length: int) -> str | Cell:
        return cell(at[length, arm])

    def by_length(
        name: str, title: str, arms: tuple[str, ...], cell: Callable[[ArmLatency], str | Cell], *notes: str
    ) -> tuple[Grid, ...]:
        columns = [words("n", str)]
        columns += [Column(arm, read=partial(at_length, arm, cell)) for arm in arms]
        return shown(name, title, columns, evidence.lengths, notes)

    def times_as_fast(timed: ArmLatency) -> Cell:
        sign = evidence.significance(timed.speedup)
        return Cell(speedup_text(evidence, timed) + (BEST_MARK if sign else ""), sign > 0)

    def milliseconds(timed: ArmLatency) -> str:
        bounds = [milliseconds_text(bound) for bound in (timed.seconds.low, timed.seconds.high) if bound is not None]
        return f"{milliseconds_text(timed.seconds.value)} [{', '.join(bounds) or '?'}]"

    def operations(timed: ArmLatency) -> str:
        return f"{scientific(timed.flops)} ({fixed(timed.flops_ratio, FLOPS_DECIMALS)})"

    yield from by_length(name, f"Speedup over {baseline} [95%]", rivals, times_as_fast, *_notes(evidence))
    yield from by_length("seconds", "Milliseconds per sequence: median [95%]", evidence.arms, milliseconds)
    title = f"FLOPs per sequence (in brackets: ratio to {baseline})"
    yield from by_length("operations", title, evidence.arms, operations)


def _notes(evidence: LatencyEvidence) -> Iterator[str]:
    baseline, star = printable(evidence.arms[0]), "the interval excludes 1"
    if evidence.controls and evidence.timed:  # a larger difference than that of an arm equal to the baseline
        control = f"{' and '.join(map(printable, evidence.controls))}, identical to {baseline}"
        star += f" by more than that of the control {control}: at most a factor of {evidence.noise:.3f}"
    yield f"Speedup: the median over rounds of {baseline}'s time divided by the arm's time in the same round."
    yield f"[95%]: percentile bootstrap of the median over rounds, {RESAMPLES} draws. *: {star}."
    yield "Intervals contain the variation between rounds of a run, not between runs, largest on short inputs."
    yield f"FLOPs, closed form: {MATMUL.rule.rpartition('; ')[0]}."
    if evidence.timing.faster or evidence.timing.widening:
        yield (
            "Verdicts on time: as stated here if the ratio is above 1 and marked *, opposite here if below 1 and "
            "marked *, else open here; on FLOPs: whether the ratio is above 1."
        )
    number = sum(timed.speedup.low is not None for timed in evidence.timed if timed.arm != evidence.arms[0])
    if number > 1:
        chance = f"if no arm differed, about {number * 0.05:.1f} of them would exclude 1 by chance"
        yield f"The first table shows {number} intervals at 95%, none corrected for the others; {chance}."


def speedup_text(evidence: LatencyEvidence, timed: ArmLatency, joined: str = "") -> str:
    """Return `1.18x [1.15, 1.21]` with the digits that the spreads support; `joined` goes before the interval."""
    decimals = speedup_decimals(evidence)
    return f"{fixed(timed.speedup.value, decimals)}x{joined} {interval_text(timed.speedup, decimals)}"


def speedup_decimals(evidence: LatencyEvidence) -> int:
    """Return 2 decimals, or 3 for narrow intervals."""
    rivals = [timed.speedup for timed in evidence.timed if timed.arm != evidence.timing.baseline]
    halves = [(each.high - each.low) / 2 for each in rivals if each.low is not None and each.high is not None]
    return min(3, max(2, decimals_for(halves, 2)))


def interval_text(estimate: Estimate, decimals: int) -> str:
    """Return `[1.15, 1.21]`; a single round has no interval."""
    if estimate.low is None or estimate.high is None:
        return f"[{UNKNOWN}]"
    return f"[{fixed(estimate.low, decimals)}, {fixed(estimate.high, decimals)}]"


def _statement_grid(evidence: LatencyEvidence, verdicts: list[StatementVerdict]) -> tuple[Grid, ...]:
    """Return the statements with their verdicts and ratios; counted FLOPs have no interval."""
    decimals = {OPERATIONS: FLOPS_DECIMALS, TIME: speedup_decimals(evidence)}
    by_place: dict[tuple[str, str], dict[str, str]] = {}
    for each in verdicts:
        interval = "" if each.measure == OPERATIONS else f" {interval_text(each.ratio, decimals[TIME])}"
        text = f"{each.verdict}: {fixed(each.ratio.value, decimals[each.measure])}{interval}"
        named = by_place.setdefault((each.statement, each.at), {"the paper": each.statement, "at": each.at})
        named[each.measure] = text
    columns = [*map(words, ("the paper", "at", OPERATIONS, TIME))]
    return shown("orderings", "The paper's statements", columns, by_place.values())


def _row(tested: StatementVerdict) -> Row:
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


def finding(evidence: LatencyEvidence) -> str:
    """Return the speedups over the baseline on the longest and the shortest input.

    They are of the arms in the paper's orderings, or of all arms.
    """
    lengths, planned, rivals = evidence.lengths, evidence.timing.lengths, evidence.arms[1:]
    if not lengths:
        return f"No result yet: none of {len(planned)} lengths has been timed."
    named = {name for ordering in evidence.timing.faster for name in ordering.split(" > ")}
    arms = tuple(arm for arm in rivals if arm in named) or rivals
    text = " ".join(sentence for arm in arms for sentence in _sentences(evidence, arm))
    begun = "" if len(lengths) == len(planned) else f"So far, with {len(lengths)} of {len(planned)} lengths timed: "
    return f"{begun}{text}"


def _sentences(evidence: LatencyEvidence, arm: str) -> Iterator[str]:
    baseline, timed = evidence.timing.baseline, evidence.of_arm(arm)
    longest, shortest = timed[-1], timed[0]
    flops, of_shortest = (fixed(each.flops_ratio, FLOPS_DECIMALS) for each in (longest, shortest))
    speedup = speedup_text(evidence, longest, f" as fast as {baseline}")
    sentence = f"At n = {longest.length} {arm} is {speedup} with {flops} of its FLOPs"
    if shortest is not longest:
        sentence += f", at n = {shortest.length} {speedup_text(evidence, shortest)} with {of_shortest}"
    yield f"{sentence} ({counted(longest.speedup.n, 'paired round')} per length; {measured_on(evidence)})."
    by_sign: dict[int, list[str]] = {sign: [] for sign in SAYS}
    for each in timed:
        by_sign[evidence.significance(each.speedup)].append(str(each.length))
    where = [f"{SAYS[sign]} at n = {', '.join(lengths)}" for sign, lengths in by_sign.items() if lengths]
    yield f"{'; '.join(where).capitalize()}."


def limits(results: Results) -> Iterator[str]:
    """Yield that times are those of one machine; nothing before anything was timed."""
    if (found := results.once(latencies_of)) is not None and found.timed:
        timed = f"timed was {measured_on(found)}, in one run on one machine"
        yield f"Whether a model takes less time elsewhere: {timed}."


def measured_on(evidence: LatencyEvidence) -> str:
    """Return what was timed and where: `the attention sublayer alone, 1 sequence per pass, cpu, 1 thread`."""
    part = "a whole block" if evidence.timing.part == "block" else "the attention sublayer alone"
    sequences = f"{counted(evidence.timing.batch_sequences, 'sequence')} per pass"
    machine = evidence.machine
    on = () if machine is None else (machine.device, counted(machine.threads, "thread"))
    return ", ".join((part, sequences, *on))


def conditions(evidence: LatencyEvidence) -> Iterator[tuple[str, str]]:
    """Yield the conditions of the measurement as pairs of a term and its text."""
    timing, machine, sized = evidence.timing, evidence.machine, evidence.architectures[evidence.timing.baseline]
    of_block = f", feed-forward width {sized.feed_forward_width}" if timing.part == "block" else ""
    rounds = f"{timing.rounds} after {timing.warm_up_rounds} warm-up rounds; arms in random order in each round"
    inputs = (
        f"{timing.batch_sequences} per pass, random tokens without padding, up to {max(timing.lengths)} tokens long"
    )
    yield "Timed", PARTS[timing.part]
    yield "Sizes", f"width {sized.width}, {sized.heads} heads{of_block}"
    yield "Inputs", inputs
    yield "Rounds", rounds
    if machine is None:
        return
    yield "Clock", f"{machine.clock}, {counted(machine.threads, 'thread')}"
    yield "Arithmetic", f"{timing.precision}, PyTorch {machine.torch}, {machine.instructions}; {machine.operators}"
    yield "Machine", f"{machine.processor}, {machine.system}, device {machine.device}, Python {machine.python}"
    yield "Code", f"models, sha256 {machine.code}"


def _trial_rows(results: Results) -> Iterator[Row]:
    """Yield one row per arm and length, in milliseconds of one sequence; a timing has no seeds."""
    found = results.once(latencies_of)
    for each in () if found is None else found.timed:
        named: Row = {"arm": each.arm, "seed": None, "task": f"length {each.length}", "metric": "milliseconds"}
        yield {**named, "value": each.seconds.value * MILLISECOND}


def draw(evidence: LatencyEvidence) -> Figure:
    """Return the speedup of every arm by length."""
    lines = []
    for arm in evidence.arms[1:]:
        speedups = [(each.length, each.speedup) for each in evidence.of_arm(arm)]
        points = [Point(length, speedup.value, speedup.low, speedup.high) for length, speedup in speedups]
        lines.append(NamedLine(printable(arm), points))
    title, spread = f"Speedup over {printable(evidence.arms[0])}", ", 95% interval"
    label = "tokens per sequence"
    return figure_of([LinePanel(lines, title, spread, label, "{:g}".format, LOGARITHMIC, first_style=1, level=1.0)])


def _measured(results: Results) -> LatencyEvidence | None:
    found = results.once(latencies_of)
    return found if found is not None and found.measured else None


def _figure_table(evidence: LatencyEvidence) -> Table:
    return latency_table(evidence, "latency")


SECTION = Section(
    "latency",
    _content,
    applies=lambda results: results.once(latencies_of) is not None,
    sentence=lambda results: "" if (found := results.once(latencies_of)) is None else finding(found),
    conditions=lambda results: () if (found := results.once(latencies_of)) is None else conditions(found),
    limits=limits,
    values=_trial_rows,
    figure=ReportFigure("latency", lambda _: "Speedup by length", _measured, _figure_table, draw),
    of_trials=False,
)
