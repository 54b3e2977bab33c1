"""Differences of any two arms, looked up after a run, with Holm's correction over all pairs of the report's arms.

The correction is over every pair of a metric, whichever of them are shown: which ones to look at is chosen after the
values are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from steeplechase.analysis.difference import ALPHA, Difference
from steeplechase.analysis.paired import holm


@dataclass(frozen=True)
class ComparedPair:
    """An arm minus a reference on one metric."""

    arm: str
    reference: str
    metric: Metric
    difference: Difference
    """By the test that decides verdicts."""
    p: float | None
    """Two-sided, divided by the share of α at the arms' look; None with too few seeds."""
    p_adjusted: float | None
    family: int
    """Number of tests that the correction is over."""

    @property
    def significant(self) -> bool:
        """Whether the arms differ after the correction."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA


def compared_pairs(results: Results, arms: Sequence[str], metrics: Sequence[Metric]) -> tuple[ComparedPair, ...]:
    """Return every pair of the named arms by metric, the earlier minus the later; a single arm minus each other one.

    At least one arm and one metric are named, all of them in the results.
    """
    every = [arm.name for arm in results.arms]
    shown = [*combinations(arms, 2)] if len(arms) > 1 else [(arms[0], arm) for arm in every if arm != arms[0]]
    return tuple(pair for metric in metrics for pair in _of_metric(results, every, shown, metric))


def _of_metric(
    results: Results, every: Sequence[str], shown: Sequence[tuple[str, str]], metric: Metric
) -> Sequence[ComparedPair]:
    p_values = {frozenset(pair): _p(results, *pair, metric) for pair in combinations(every, 2)}
    adjusted = dict(zip(p_values, holm([*p_values.values()]), strict=True))
    family = sum(p is not None for p in p_values.values())
    return [
        ComparedPair(
            arm=arm,
            reference=reference,
            metric=metric,
            difference=results.difference(arm, reference, metric),
            p=p_values[frozenset((arm, reference))],
            p_adjusted=adjusted[frozenset((arm, reference))],
            family=family,
        )
        for arm, reference in shown
    ]


def _p(results: Results, arm: str, reference: str, metric: Metric) -> float | None:
    p = results.estimate(arm, reference, metric).p().item()
    share = (1 - max(results.confidence(arm), results.confidence(reference))) / ALPHA
    return None if isnan(p) else min(1.0, p / share)
