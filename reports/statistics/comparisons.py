"""Tests of every arm against the baseline: p values, the minimum detectable effect, and a verdict.

Helps or hurts follows from Student's paired t with Holm's correction over a family: the headline cells of the table
(every other arm on held-out loss and on score) are one family, all further cells another. "No difference larger than
m" follows from the interval, which must lie within the equivalence margin.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import stdev

from analysis.effects import Difference, SeedValues, differences_of
from analysis.group_sequential import Looks
from analysis.paired import ALPHA, holm, sign_flip_p, t_p
from analysis.power import power, power_within, seeds_needed, smallest_effect
from reports.statistics.metrics import Metric

Cell = tuple[str, str]
"""An arm and the name of a metric."""


class Verdict(StrEnum):
    """The verdict on an arm."""

    HELPS = "helps"
    HURTS = "hurts"
    NO_DIFFERENCE = "no difference"
    """The interval lies within the equivalence margin."""
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """The test of one arm against the baseline on one metric; None with too few seeds."""

    p: float | None
    """p of Student's paired t, two-sided, divided by the share of α spent at this look."""
    p_exact: float | None
    """p of the sign-flip test, without distributional assumptions; not used for the verdict."""
    p_holm: float | None
    """p after Holm's correction; the verdict uses it."""
    smallest_effect: float | None
    """Minimum detectable effect: 80% power with this n, by one uncorrected test at 5%."""
    margin: float | None
    verdict: Verdict
    seeds_to_decide: int | None
    """If undecided, the seeds for 80% power if the true Δ and sd equal the observed ones; None if more than a hundred
    are needed or no sd is known."""

    @property
    def significant(self) -> bool:
        """Whether the arm differs significantly from the baseline."""
        return self.verdict in (Verdict.HELPS, Verdict.HURTS)


@dataclass(frozen=True)
class CellTest:
    """The data of one test: an arm on a metric."""

    metric: Metric
    values: SeedValues
    baseline: SeedValues
    difference: Difference
    margin: float | None
    share: float
    """Share of α spent at this look."""

    @property
    def differences(self) -> list[float]:
        """The paired differences by seed."""
        return differences_of(self.values, self.baseline)

    @property
    def p(self) -> float | None:
        """The p value of the paired t, divided by the share of α."""
        p = t_p(self.differences)
        return None if p is None else min(1.0, p / self.share)


def compare(
    cells: Mapping[Cell, CellTest], families: Sequence[Sequence[Cell]], looks: Looks
) -> dict[Cell, Comparison]:
    """Return the comparison of every cell; the families hold each cell once."""
    compared: dict[Cell, Comparison] = {}
    for family in families:
        p_values = [cells[cell].p for cell in family]
        adjusted = holm(p_values)
        rivals = max(1, sum(p is not None and p > ALPHA for p in adjusted))
        last = looks.share(looks.counts[-1]) if looks.counts else 1.0
        for cell, p, p_holm in zip(family, p_values, adjusted, strict=True):
            compared[cell] = _compared(cells[cell], p, p_holm, (ALPHA * last / rivals, ALPHA * last))
    return compared


def _compared(test: CellTest, p: float | None, p_holm: float | None, alphas: tuple[float, float]) -> Comparison:
    differences = test.differences
    verdict = verdict_of(test, p_holm)
    sd = stdev(differences) if p is not None else None
    undecided = verdict is Verdict.UNDECIDED and sd is not None
    return Comparison(
        p=p,
        p_exact=sign_flip_p(differences),
        p_holm=p_holm,
        smallest_effect=None if sd is None else smallest_effect(sd, len(differences)),
        margin=test.margin,
        verdict=verdict,
        seeds_to_decide=seeds_needed(_chance(test, sd, *alphas), len(differences) + 1) if undecided and sd else None,
    )


def verdict_of(test: CellTest, p_holm: float | None) -> Verdict:
    """Return the verdict; a significant difference within the margin counts as no difference."""
    low, high, delta = test.difference.low, test.difference.high, test.difference.delta
    if low is None or high is None or delta is None or p_holm is None:
        return Verdict.UNDECIDED
    if test.margin is not None and -test.margin <= low and high <= test.margin:
        return Verdict.NO_DIFFERENCE
    if p_holm > ALPHA:
        return Verdict.UNDECIDED
    return Verdict.HELPS if test.metric.better(delta, 0.0) else Verdict.HURTS


def _chance(test: CellTest, sd: float, alpha: float, alpha_within: float) -> Callable[[int], float]:
    delta, margin = test.difference.delta or 0.0, test.margin

    def chance(seeds: int) -> float:
        detection = power(delta, sd, seeds, alpha)
        return detection if margin is None else max(detection, power_within(delta, margin, sd, seeds, alpha_within))

    return chance
