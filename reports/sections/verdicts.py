"""Verdicts: every arm against the baseline on every metric, with p values, intervals and the detectable effect.

The figure is a forest plot: differences to the baseline with intervals, a panel per metric, a line per arm.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reports.figures.figure import ReportFigure
from reports.figures.interval_panels import Line, Panel, draw
from reports.number_format import NOTHING, UNKNOWN, difference_text, fixed, p_text, simultaneous_text
from reports.section import Content, Section
from reports.statistics.comparisons import TEST_NAMES, Comparison, Verdict
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Column, Row, Table, compared, interval, printable, shown, words
from steeplechase.analysis.difference import Difference
from steeplechase.analysis.power import MOST_SEEDS
from steeplechase.configuration.arm import BASELINE


@dataclass(frozen=True)
class _Tested:
    """An arm on a headline metric."""

    arm: str
    metric: Metric
    comparison: Comparison
    decimals: int


def effects_table(results: Results) -> Table:
    """Return a verdict for every arm but the baseline on every metric."""
    return Table.of("effects", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        for metric in results.metrics if arm.name != BASELINE else ():
            found = results.comparison(arm.name, metric)
            detectable, corrected = found.detectable, found.corrected
            diverged, trials = results.diverged(arm.name)
            yield {
                "arm": arm.name,
                "metric": metric.name,
                **compared(results.effect(arm.name, metric).difference),
                "test": found.tested.deciding,
                "degrees": found.degrees,
                "p": found.p,
                "p_paired": found.p_paired,
                "p_adjusted": found.p_adjusted,
                "level": corrected.level,
                "simultaneous_low": corrected.low,
                "simultaneous_high": corrected.high,
                "smallest_effect": None if detectable is None else detectable.value,
                "detectable_low": None if detectable is None else detectable.low,
                "detectable_high": None if detectable is None else detectable.high,
                "margin": found.margin,
                "p_equivalence": found.p_equivalence,
                "verdict": str(found.verdict),
                "seeds_to_decide": found.seeds_to_decide,
                "diverged": diverged,
                "trials": trials,
            }


def _behind_gate(read: Callable[[_Tested], str]) -> Callable[[_Tested], str]:
    """Return a reader that shows nothing of a cell that was not tested because its arm's gate is shut."""
    return lambda tested: NOTHING if tested.comparison.gate_shut else read(tested)


def _simultaneous(tested: _Tested) -> str:
    corrected = tested.comparison.corrected
    return UNKNOWN if corrected.p is None else simultaneous_text(corrected.low, corrected.high, tested.decimals)


def _detectable(tested: _Tested) -> str:
    detectable = tested.comparison.detectable
    if detectable is None:
        return UNKNOWN
    bounds = (detectable.value, detectable.low, detectable.high)
    value, low, high = (fixed(each, tested.decimals) for each in bounds)
    return f"{value} ({low} to {high})"


def _seeds_needed(tested: _Tested) -> str:
    found = tested.comparison
    if found.verdict is not Verdict.UNDECIDED or found.p is None:
        return NOTHING
    return f"> {MOST_SEEDS}" if found.seeds_to_decide is None else str(found.seeds_to_decide)


COLUMNS = (
    *(words("arm", lambda tested: tested.arm), words("metric", lambda tested: tested.metric.title)),
    words("verdict", lambda tested: verdict_text(tested.comparison)),
    Column("simultaneous 95%", read=_behind_gate(_simultaneous)),
    Column("adjusted", "p", read=_behind_gate(lambda tested: p_text(tested.comparison.p_adjusted))),
    Column("uncorrected", "p", further=True, read=lambda tested: p_text(tested.comparison.p)),
    Column("paired t", "p", further=True, read=lambda tested: p_text(tested.comparison.p_paired)),
    Column("min. detectable Δ", further=True, read=_behind_gate(_detectable)),
    Column("seeds needed", further=True, read=_behind_gate(_seeds_needed)),
)


def verdict_text(compared: Comparison) -> str:
    """Return the verdict in words, with the margin of an equivalence."""
    if compared.verdict is Verdict.NO_DIFFERENCE:
        return f"no difference larger than {compared.margin:g}"
    return str(compared.verdict)


def verdict_notes(results: Results) -> Iterator[str]:
    """Yield the definition of the verdicts and the tests of the correction, of results with a headline metric."""
    first, *others = (metric.title for metric in results.headlines)
    yield (
        f"Verdicts: helps or hurts if p of {TEST_NAMES[results.test]}, adjusted for all tests on "
        f"{' and '.join((first, *others))}, is at most 0.05; no difference larger than m "
        "if two one-sided tests at 5% (the 90% interval within ±m), Holm-corrected over the arms, show it; undecided "
        "otherwise. Further metrics are a separate family under Holm's correction."
    )
    if others:
        yield (
            f"Order of tests: each arm's {first} is tested at 5% over the number of arms; a significant one passes "
            f"its level on to the arm's {' and '.join(others)}, which is not tested otherwise ({NOTHING})."
        )
    if any(history.stopped_by is not None for history in results.snapshot.histories):
        yield (
            "Hurdles chose the trials that are tested by losses of the same runs. No correction covers this choice: "
            "p, intervals and verdicts are those of arms named beforehand, and optimistic here."
        )


def _test_notes(results: Results) -> Iterator[str]:
    yield (
        "Simultaneous 95%: together the intervals hold all true differences with 95% probability; 0 is outside if "
        "and only if p is at most 0.05. The interval of a significant cell ends at 0, which it does not contain."
    )
    yield (
        "Minimum detectable Δ: the true difference that the test detects with 80% power at the level that decides, "
        "with the 95% interval that follows from the error of its standard deviation. Seeds needed: for 80% power at "
        "the observed Δ and variances."
    )
    if any(results.examples(metric.name) for metric in results.metrics):
        yield (
            "Where examples are sampled (see the conditions), a difference is tested over seeds, and over seeds and "
            "examples by a two-way analysis of variance; the interval is the wider of the two, p the larger."
        )
    if results.looks.counts:
        counts = ", ".join(map(str, results.looks.counts))
        yield (
            f"Group-sequential design with looks at {counts} seeds: undecided arms got more seeds, and each look "
            "spends a share of α. Intervals are therefore wider than those of a single look, and valid at any look."
        )


def _content(results: Results) -> Content:
    tested = [
        _Tested(arm.name, metric, results.comparison(arm.name, metric), results.decimals(metric))
        for metric in results.headlines
        for arm in results.arms
        if arm.name != BASELINE and results.effect(arm.name, metric).difference.n
    ]
    title = "Tests against the baseline"
    notes, further = ([*verdict_notes(results)], [*_test_notes(results)]) if tested else ([], [])
    return Content((effects_table(results),), shown("effects", title, COLUMNS, tested, notes, *further))


def _panels(results: Results) -> tuple[Panel, ...] | None:
    """Return the differences on every metric with an interval, arms in the table's order; None without one."""
    panels, rivals = [], [arm.name for arm in results.arms if arm.name != BASELINE]
    for metric in results.shown:
        decimals = results.decimals(metric)
        lines = [_line(arm, results.effect(arm, metric).difference, decimals) for arm in rivals]
        if any(line.difference.low is not None for line in lines):
            panels.append(Panel(f"Δ {metric.title} to the baseline", metric, tuple(lines)))
    return tuple(panels) or None


def _line(arm: str, difference: Difference, decimals: int) -> Line:
    return Line(printable(arm), difference, f"{difference_text(difference, decimals)}  n = {difference.n}")


def _forest_table(panels: Sequence[Panel]) -> Table:
    rows = (
        {"metric": panel.metric.name, "arm": line.name, "pairs": line.difference.n, **interval(line.difference)}
        for panel in panels
        for line in panel.lines
    )
    return Table.of("forest", rows)


FIGURE = ReportFigure("forest", lambda _: "Differences to the baseline", _panels, _forest_table, draw)
SECTION = Section("effects", _content, figure=FIGURE)
