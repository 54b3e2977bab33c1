"""What the paper says of latency, each statement with a verdict from our operations and our paired times."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.bootstrap import Estimate
from reports.grid import Column, Grid, grid
from reports.number_format import fixed
from reports.section import Content, Section
from reports.sections.claims import Judgement
from reports.sections.latency import FLOPS_DECIMALS, interval_text, speedup_decimals
from reports.statistics.latency import LatencyEvidence
from reports.table import Row, table

OPERATIONS, TIME = "FLOPs", "time"


@dataclass(frozen=True)
class JudgedStatement:
    """One statement at one length or over all, on operations or on time."""

    statement: str
    measure: str
    at: str
    verdict: Judgement
    ratio: Estimate
    """Above 1 is what the paper says; operations are counted and have no interval."""


def judged_statements(evidence: LatencyEvidence) -> Iterator[JudgedStatement]:
    """Yield a verdict on every statement at every length that has been timed."""
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


def _widening(evidence: LatencyEvidence, arm: str) -> Iterator[JudgedStatement]:
    baseline, shortest, longest = evidence.experiment.baseline, evidence.lengths[0], evidence.lengths[-1]
    statement, at = f"{arm} gains more on longer inputs (ours: its FLOPs say so)", f"n = {shortest} to {longest}"
    ratios = (evidence.flops_ratio(arm, baseline, length) for length in (shortest, longest))
    yield _counted(statement, at, next(ratios) / next(ratios))
    growth = evidence.gain_growth(arm)
    yield _timed(statement, at, growth, evidence.significance(growth, ratios=2))


def _counted(statement: str, at: str, ratio: float) -> JudgedStatement:
    verdict = Judgement.SUPPORTED if ratio > 1 else Judgement.CONTRADICTED
    return JudgedStatement(statement, OPERATIONS, at, verdict, Estimate(1, ratio, None, None))


def _timed(statement: str, at: str, ratio: Estimate, significance: int) -> JudgedStatement:
    verdicts = {1: Judgement.SUPPORTED, -1: Judgement.CONTRADICTED, 0: Judgement.UNDECIDED}
    return JudgedStatement(statement, TIME, at, verdicts[significance], ratio)


def _content(evidence: LatencyEvidence) -> Content:
    found = list(judged_statements(evidence))
    rows = table("orderings", "statement measure at verdict n ratio low high", map(_row, found))
    return Content((rows,), tuple(_grids(evidence, found)))


def _grids(evidence: LatencyEvidence, verdicts: list[JudgedStatement]) -> Iterator[Grid]:
    if not verdicts:
        return
    columns = [Column(name, numeric=False) for name in ("the paper", "at", OPERATIONS, TIME)]
    places = dict.fromkeys((found.statement, found.at) for found in verdicts)
    decimals = {OPERATIONS: FLOPS_DECIMALS, TIME: speedup_decimals(evidence)}
    said = {
        (found.statement, found.at, found.measure): _verdict_text(found, decimals[found.measure])
        for found in verdicts
    }
    rows = ([*place, said[*place, OPERATIONS], said[*place, TIME]] for place in places)
    yield grid("orderings", "The paper's statements", columns, rows)


def _row(found: JudgedStatement) -> Row:
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


def _verdict_text(found: JudgedStatement, decimals: int) -> str:
    """Return the verdict with its ratio; what is counted has no interval."""
    interval = "" if found.measure == OPERATIONS else f" {interval_text(found.ratio, decimals)}"
    return f"{found.verdict}: {fixed(found.ratio.value, decimals)}{interval}"


SECTION = Section("orderings", _content)
