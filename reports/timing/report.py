"""A timing report: the same shape as every other report, so that every format can write it down."""

from collections.abc import Iterator

from analysis.bootstrap import RESAMPLES
from ledger.timing.record import TimingRecord
from reports.document import Notes, Report
from reports.footer import scale_of
from reports.formats import render as render_report
from reports.grid import Grid, with_notes
from reports.sanitise import printable
from reports.timing.analysis import Analysis
from reports.timing.finding import finding_of
from reports.timing.page import page
from reports.timing.tables import grids_of, intervals, tables_of
from search_space.cost import MATMUL

PARTS = {
    "attention": "the attention sublayer with its maps, without feed-forward network and normalisation",
    "block": "a whole block: attention, feed-forward network, both normalisations",
}


def render(record: TimingRecord, form: str) -> str:
    """Return the report in a format. Raises ConfigurationError for a format that does not exist."""
    analysis = Analysis(record)
    return rendered(report_of(analysis), analysis, form)


def rendered(report: Report, analysis: Analysis, form: str) -> str:
    """Return a report that is built already in a format. Raises ConfigurationError as `render` does."""
    return page(report, analysis) if form == "html" else render_report(report, form)


def build(record: TimingRecord) -> Report:
    """Return the report of a record, finished or not."""
    return report_of(Analysis(record))


def report_of(analysis: Analysis) -> Report:
    """Return the report of an analysis, which is made once for every format: its bootstraps take seconds."""
    record, experiment = analysis.record, analysis.experiment
    paper = experiment.paper
    return Report(
        experiment=printable(experiment.experiment),
        scale=printable(scale_of(record.scale)),
        question=printable(experiment.question),
        finding=printable(finding_of(analysis)),
        paper=printable(f"{paper.statement} ({paper.source})") if paper else "",
        tables=tuple(tables_of(analysis)),
        grids=tuple(_grids(analysis)),
        footer=tuple((term, printable(text)) for term, text in _footer(record)),
    )


def _grids(analysis: Analysis) -> Iterator[Grid]:
    for place, grid in enumerate(grids_of(analysis)):
        yield with_notes(grid, _notes(analysis)) if place == 0 else grid


def _notes(analysis: Analysis) -> Iterator[str]:
    baseline = printable(analysis.arms[0])
    yield f"Times as fast: the median over rounds of {baseline}'s time over the arm's own, both taken in one round."
    yield f"[95%]: percentile bootstrap of the median over rounds, {RESAMPLES} draws. *: {_star(analysis)}."
    yield "Intervals speak of the rounds of one run; another run may leave them, most of all on short inputs."
    yield f"FLOPs, closed form: {MATMUL.rule.rpartition('; ')[0]}."
    if analysis.experiment.paper:
        yield "Verdicts: the paper is right where the ratio is above 1; undecided where there would be no *."
    number = intervals(analysis)
    if number > 1:
        chance = f"if nothing differed, about {number * 0.05:.1f} of them would exclude 1 by chance"
        yield f"The first table shows {number} intervals at 95%, none corrected for the others; {chance}."


def _star(analysis: Analysis) -> str:
    """Return what counts as a difference: more than a control, which is the baseline under another name, shows."""
    if not analysis.controls or not analysis.timed:
        return "the interval excludes 1"
    names = " and ".join(map(printable, analysis.controls))
    same = f"{names}, the same as {printable(analysis.arms[0])}, does at most: a factor of {analysis.noise:.3f}"
    return f"the interval leaves 1 further than that of {same}"


def _footer(record: TimingRecord) -> Notes:
    timing, machine = record.experiment.timing, record.machine
    longest = max(timing.lengths)
    return (
        ("Scale", scale_of(record.scale) or "none declared"),
        ("Timed", PARTS[timing.part]),
        ("Sizes", _sizes(record)),
        ("Inputs", f"{timing.batch_sequences} per pass, random, of up to {longest} tokens, none of them padding"),
        ("Rounds", f"{timing.rounds} after {timing.warm_up_rounds} for warming up; arms in random order in each"),
        ("Clock", f"{machine.clock}, {machine.threads} thread"),
        ("Arithmetic", f"{timing.precision}, PyTorch {machine.torch}, {machine.instructions}; {machine.operators}"),
        ("Machine", f"{machine.processor}, {machine.system}, device {machine.device}, Python {machine.python}"),
        ("Code", f"models, sha256 {machine.code}"),
    )


def _sizes(record: TimingRecord) -> str:
    architecture = record.experiment.architecture_of(record.experiment.baseline)
    sizes = f"width {architecture.width}, {architecture.heads} heads"
    inner = (
        f", feed-forward width {architecture.feed_forward_width}" if record.experiment.timing.part == "block" else ""
    )
    return sizes + inner
