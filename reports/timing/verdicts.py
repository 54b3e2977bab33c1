"""What the paper says of speed, each statement with a verdict from our operations and our paired times."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.bootstrap import Estimate
from reports.sections.claims import Judgement
from reports.timing.analysis import Analysis

OPERATIONS, TIME = "FLOPs", "time"


@dataclass(frozen=True)
class Judged:
    """One statement at one length or over all, on operations or on time."""

    statement: str
    measure: str
    at: str
    verdict: Judgement
    ratio: Estimate
    """Above 1 is what the paper says; operations are counted and have no interval."""


def judged(analysis: Analysis) -> Iterator[Judged]:
    """Yield a verdict on every statement at every length that has been timed."""
    paper = analysis.experiment.paper
    if paper is None or not analysis.lengths:
        return
    for ordering in paper.orderings:
        first, second = ordering.split(" > ")
        for length in analysis.lengths:
            counted = 1 / analysis.flops_ratio(first, second, length)
            yield _counted(ordering, f"n = {length}", counted)
            ratio = analysis.speedup(first, second, length)
            yield _timed(ordering, f"n = {length}", ratio, analysis.told(ratio))
    if len(analysis.lengths) > 1:
        for arm in paper.widening:
            yield from _widening(analysis, arm)


def _widening(analysis: Analysis, arm: str) -> Iterator[Judged]:
    baseline, shortest, longest = analysis.experiment.baseline, analysis.lengths[0], analysis.lengths[-1]
    statement, at = f"{arm} gains more on longer inputs (ours: its FLOPs say so)", f"n = {shortest} to {longest}"
    ratios = (analysis.flops_ratio(arm, baseline, length) for length in (shortest, longest))
    yield _counted(statement, at, next(ratios) / next(ratios))
    growth = analysis.gain_growth(arm)
    yield _timed(statement, at, growth, analysis.told(growth, ratios=2))


def _counted(statement: str, at: str, ratio: float) -> Judged:
    verdict = Judgement.SUPPORTED if ratio > 1 else Judgement.CONTRADICTED
    return Judged(statement, OPERATIONS, at, verdict, Estimate(1, ratio, None, None))


def _timed(statement: str, at: str, ratio: Estimate, told: int) -> Judged:
    verdicts = {1: Judgement.SUPPORTED, -1: Judgement.CONTRADICTED, 0: Judgement.UNDECIDED}
    return Judged(statement, TIME, at, verdicts[told], ratio)
