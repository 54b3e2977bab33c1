"""Means, spreads and paired differences over pretraining seeds. Student's paired t, two-sided 95%.

The pretraining seed is the replicate (MultiBERTs, Sellam et al. 2021, arXiv 2106.16163); values of several
fine-tuning seeds are averaged before. All sums are exact, so results are independent of the order of trials.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from analysis.paired import interval

CONFIDENCE = 0.95

SeedValues = Mapping[int, float]
"""One value per pretraining seed."""


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences with its interval; None if there are too few pairs."""

    pairs: int = 0
    delta: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the interval is known and excludes 0: significant without correction for multiple tests."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def one_degree(self) -> bool:
        """Whether the interval is known and rests on two differences: one degree of freedom."""
        return self.low is not None and self.pairs == 2


@dataclass(frozen=True)
class Effect:
    """One arm on one metric: number of seeds, mean, sample standard deviation, and difference to the baseline."""

    n: int
    mean: float | None
    sd: float | None
    difference: Difference


def effect(values: SeedValues, baseline: SeedValues | None, confidence: float = CONFIDENCE) -> Effect:
    """Return the effect of an arm; for the baseline itself, without a difference."""
    sample = list(values.values())
    return Effect(
        n=len(sample),
        mean=fmean(sample) if sample else None,
        sd=stdev(sample) if len(sample) > 1 else None,
        difference=Difference() if baseline is None else paired(values, baseline, confidence),
    )


def paired(values: SeedValues, others: SeedValues, confidence: float = CONFIDENCE) -> Difference:
    """Return the mean of `values - others` over the seeds they share, with its interval for two or more pairs."""
    differences = differences_of(values, others)
    if not differences:
        return Difference()
    if len(differences) == 1:
        return Difference(1, differences[0])
    low, high = interval(differences, confidence)
    return Difference(len(differences), fmean(differences), low, high)


def differences_of(values: SeedValues, others: SeedValues) -> list[float]:
    """Return `values - others` over the seeds they share, by seed."""
    return [values[seed] - others[seed] for seed in sorted(values.keys() & others.keys())]
