"""What the paper says of latency, each statement with a verdict from our operations and our paired times."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.bootstrap import Estimate
from reports.sections.claims import Judgement
from reports.statistics.latency import LatencyResults

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


def judged_statements(results: LatencyResults) -> Iterator[JudgedStatement]:
    """Yield a verdict on every statement at every length that has been timed."""
    paper = results.experiment.paper
    if paper is None or not results.lengths:
        return
    for ordering in paper.orderings:
        first, second = ordering.split(" > ")
        for length in results.lengths:
            counted = 1 / results.flops_ratio(first, second, length)
            yield _counted(ordering, f"n = {length}", counted)
            ratio = results.speedup(first, second, length)
            yield _timed(ordering, f"n = {length}", ratio, results.significance(ratio))
    if len(results.lengths) > 1:
        for arm in paper.widening:
            yield from _widening(results, arm)


def _widening(results: LatencyResults, arm: str) -> Iterator[JudgedStatement]:
    baseline, shortest, longest = results.experiment.baseline, results.lengths[0], results.lengths[-1]
    statement, at = f"{arm} gains more on longer inputs (ours: its FLOPs say so)", f"n = {shortest} to {longest}"
    ratios = (results.flops_ratio(arm, baseline, length) for length in (shortest, longest))
    yield _counted(statement, at, next(ratios) / next(ratios))
    growth = results.gain_growth(arm)
    yield _timed(statement, at, growth, results.significance(growth, ratios=2))


def _counted(statement: str, at: str, ratio: float) -> JudgedStatement:
    verdict = Judgement.SUPPORTED if ratio > 1 else Judgement.CONTRADICTED
    return JudgedStatement(statement, OPERATIONS, at, verdict, Estimate(1, ratio, None, None))


def _timed(statement: str, at: str, ratio: Estimate, significance: int) -> JudgedStatement:
    verdicts = {1: Judgement.SUPPORTED, -1: Judgement.CONTRADICTED, 0: Judgement.UNDECIDED}
    return JudgedStatement(statement, TIME, at, verdicts[significance], ratio)
