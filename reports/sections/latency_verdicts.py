"""Tests of the paper's statements on latency: by counted FLOPs and by paired times of this machine."""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.grid import Column, Grid, grid
from reports.number_format import fixed
from reports.section import Content, Section
from reports.sections.latency import FLOPS_DECIMALS, interval_text, speedup_decimals
from reports.statistics.claims import ClaimOutcome
from reports.statistics.latency import LatencyEvidence
from reports.table import Row, table
from steeplechase.analysis.bootstrap import Estimate

OPERATIONS, TIME = "FLOPs", "time"


@dataclass(frozen=True)
class StatementVerdict:
    """One statement at one length or over all lengths, tested on FLOPs or on time."""

    statement: str
    measure: str
    at: str
    verdict: ClaimOutcome
    ratio: Estimate
    """Above 1 agrees with the paper; FLOPs are counted and have no interval."""


def statement_verdicts(evidence: LatencyEvidence) -> Iterator[StatementVerdict]:
    """Yield a verdict on every statement at every timed length."""
    paper = evidence.experiment.paper
    if paper is None or not evidence.lengths:
        return
    for ordering in paper.orderings:
        first, second = ordering.split(" > ")
        for length in evidence.lengths:
            counted = 1 / evidence.flops_ratio(first, second, length)
            yield _counted(ordering, f"n = {length}", counted)
            ratio = evidence.speedup(first, second, length)
            yield _timed(ordering, f"n = {length}", ratio, evidence.significance(ratio))
    if len(evidence.lengths) > 1:
        for arm in paper.widening:
            yield from _widening(evidence, arm)


def _widening(evidence: LatencyEvidence, arm: str) -> Iterator[StatementVerdict]:
    baseline, shortest, longest = evidence.experiment.baseline, evidence.lengths[0], evidence.lengths[-1]
    statement, at = f"{arm} gains more on longer inputs (ours: its FLOPs say so)", f"n = {shortest} to {longest}"
    ratios = (evidence.flops_ratio(arm, baseline, length) for length in (shortest, longest))
    yield _counted(statement, at, next(ratios) / next(ratios))
    growth = evidence.gain_growth(arm)
    yield _timed(statement, at, growth, evidence.significance(growth, ratios=2))


def _counted(statement: str, at: str, ratio: float) -> StatementVerdict:
    verdict = ClaimOutcome.SUPPORTED if ratio > 1 else ClaimOutcome.CONTRADICTED
    return StatementVerdict(statement, OPERATIONS, at, verdict, Estimate(1, ratio, None, None))


def _timed(statement: str, at: str, ratio: Estimate, significance: int) -> StatementVerdict:
    verdicts = {1: ClaimOutcome.SUPPORTED, -1: ClaimOutcome.CONTRADICTED, 0: ClaimOutcome.UNDECIDED}
    return StatementVerdict(statement, TIME, at, verdicts[significance], ratio)


def _content(evidence: LatencyEvidence) -> Content:
    statements = list(statement_verdicts(evidence))
    rows = table("orderings", "statement measure at verdict n ratio low high", map(_row, statements))
    return Content((rows,), tuple(_grids(evidence, statements)))


def _grids(evidence: LatencyEvidence, verdicts: list[StatementVerdict]) -> Iterator[Grid]:
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


def _verdict_text(tested: StatementVerdict, decimals: int) -> str:
    """Return the verdict with its ratio; counted FLOPs have no interval."""
    interval = "" if tested.measure == OPERATIONS else f" {interval_text(tested.ratio, decimals)}"
    return f"{tested.verdict}: {fixed(tested.ratio.value, decimals)}{interval}"


SECTION = Section("orderings", _content)
