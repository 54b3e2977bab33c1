"""Tests of every arm against the baseline: p values, simultaneous intervals, the detectable effect, and a verdict.

Helps or hurts follows from the test that the experiment declares, Welch's t by default. On headline metrics a gate
corrects for several tests: an arm's score is tested only where its held-out loss differs (`analysis/graphical.py`)
in both directions, with simultaneous intervals that exclude 0 if and only if the cell is significant
(`analysis/simultaneous.py`). All further metrics are another family, under Holm's correction. "No difference larger
than m" follows from two one-sided tests of the margin (`analysis/effects.py`), under Holm's correction
over the arms of a metric.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import isnan

import numpy as np

from reports.statistics.cell_test import CellTest
from reports.statistics.metrics import Metric
from steeplechase.analysis.difference import ALPHA, MeanTest
from steeplechase.analysis.effects import equivalence_p, stacked
from steeplechase.analysis.graphical import gated, graphical_test, holm
from steeplechase.analysis.group_sequential import Looks
from steeplechase.analysis.paired import holm as holm_p
from steeplechase.analysis.paired import t_p
from steeplechase.analysis.power import (
    DetectableEffect,
    detectable_effect,
    power_of_t,
    power_of_t_within,
    seeds_needed,
)
from steeplechase.analysis.simultaneous import step_down
from steeplechase.ledger.stage_results import finite

TEST_NAMES = {MeanTest.WELCH: "Welch's t", MeanTest.PAIRED: "Student's t, paired by pretraining seed"}

Cell = tuple[str, str]
"""An arm and the name of a metric."""


class Verdict(StrEnum):
    """The verdict on an arm."""

    HELPS = "helps"
    HURTS = "hurts"
    NO_DIFFERENCE = "no difference"
    """Shown to lie within the equivalence margin."""
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable at this size"
    """Of a task on which the arms do not exceed what is known without pretraining, and of arms of which fewer than
    two seeds have begun to learn: no difference is claimed."""


@dataclass(frozen=True)
class Corrected:
    """A test after the correction for its family; None without a test."""

    p: float | None
    """Adjusted p: at most 0.05 where the difference is significant."""
    level: float | None
    """Two-sided level of the last test; 0 behind a shut gate."""
    low: float | None = None
    high: float | None = None
    """Simultaneous bounds, of the headline metrics alone; None where infinite. A bound of 0 is not part of it."""


@dataclass(frozen=True)
class Comparison:
    """The test of one arm against the baseline on one metric; None with too few seeds."""

    tested: CellTest
    corrected: Corrected
    p_equivalence: float | None
    """Of "not within the margin", after Holm's correction over arms; None without a margin."""
    last_share: float
    """Share of α at the last look."""
    arms: int
    """Number of arms that are compared with the baseline."""

    @property
    def margin(self) -> float | None:
        """The largest difference that counts as equivalent, in the unit of the metric."""
        return self.tested.margin

    @cached_property
    def _estimate(self) -> tuple[float, float, float, float] | None:
        """Difference, standard error, degrees of freedom and two-sided p; None with too few seeds or no spread."""
        found = self.tested.estimate
        values = [each.item() for each in (found.value, found.standard_error, found.degrees, found.p())]
        return None if any(map(isnan, values)) else (values[0], values[1], values[2], values[3])

    @property
    def degrees(self) -> float | None:
        """Degrees of freedom of the test that decides."""
        return None if self._estimate is None else self._estimate[2]

    @property
    def p(self) -> float | None:
        """The two-sided p, of two tests the larger, divided by the share of α spent at this look."""
        return None if self._estimate is None else self.tested.spent(self._estimate[3])

    @property
    def p_paired(self) -> float | None:
        """The p of Student's paired t, divided by the same share."""
        return self.tested.spent(t_p(self.tested.differences))

    @property
    def p_adjusted(self) -> float | None:
        """The p after the correction for the family; the verdict uses it."""
        return self.corrected.p

    @property
    def gate_shut(self) -> bool:
        """Whether the cell was not tested because its arm's gate is not significant."""
        return self.corrected.level == 0

    @cached_property
    def detectable(self) -> DetectableEffect | None:
        """The effect detected with 80% power at the level that decides; None behind a shut gate."""
        if self._estimate is None or not self.corrected.level:
            return None
        _, error, degrees, _ = self._estimate
        return detectable_effect(error, degrees, self.corrected.level)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the arm."""
        return Verdict.NOT_TESTABLE if self.tested.not_testable else self._tested_verdict

    @property
    def _tested_verdict(self) -> Verdict:
        return verdict_of(self.tested.metric, self.tested.estimate.value.item(), self.p_adjusted, self.p_equivalence)

    @property
    def significant(self) -> bool:
        """Whether the arm differs significantly from the baseline."""
        return self.verdict in (Verdict.HELPS, Verdict.HURTS)

    @cached_property
    def seeds_to_decide(self) -> int | None:
        """If undecided, the seeds for 80% power if the true Δ and variances equal the observed ones.

        None if more than a hundred are needed, no spread is known or the gate is shut.
        """
        if self._tested_verdict is not Verdict.UNDECIDED or self._estimate is None or not self.corrected.level:
            return None
        delta, level = self._estimate[0], self.corrected.level / self.tested.share * self.last_share
        level_within = 2 * ALPHA * self.last_share / self.arms
        return seeds_needed(_chance(self.tested, delta, level, level_within), self.tested.seeds + 1)


def compare(
    cells: Mapping[Cell, CellTest], families: Sequence[Sequence[Cell]], looks: Looks, share: float = 1.0
) -> dict[Cell, Comparison]:
    """Return the comparison of every cell: of the headline family, ordered by metric, then of the further ones.

    `share`: of the level that tests of means have.
    """
    headline, *further = families
    corrected = dict(zip(headline, _gated([cells[cell] for cell in headline]), strict=True))
    for family in further:
        corrected |= zip(family, _holm([cells[cell] for cell in family]), strict=True)
    equivalent = _equivalence(cells)
    last = share * (looks.share(looks.counts[-1]) if looks.counts else 1.0)
    arms = max(1, len({arm for arm, _ in cells}))
    return {cell: Comparison(cells[cell], each, equivalent[cell], last, arms) for cell, each in corrected.items()}


def _gated(tests: Sequence[CellTest]) -> list[Corrected]:
    """Return the corrected tests of the headline family: the gate metric for every arm, then the gated one.

    An arm without a p on any of them is left out beforehand, which gives the same as removing it in the graph.
    """
    metrics, estimates = max(1, len({test.metric for test in tests})), stacked([test.estimate for test in tests])
    known = np.tile((~np.isnan(estimates.p())).reshape(metrics, -1).any(axis=0), metrics)
    if not known.any():
        return [Corrected(None, None)] * len(tests)
    arms = int(known.sum()) // metrics
    spent = np.array([test.share for test in tests])
    graph = gated(arms) if metrics == 2 else holm(arms * metrics)
    found = step_down(estimates[known], graph, spent=spent[known])
    return _in_place(known, found.adjusted_p, found.level, found.low, found.high)


def _holm(tests: Sequence[CellTest]) -> list[Corrected]:
    """Return the tests after Holm's correction."""
    estimates = stacked([test.estimate for test in tests])
    spent, p = np.array([test.share for test in tests]), estimates.p()
    known = ~np.isnan(p)
    if not known.any():
        return [Corrected(None, None)] * len(tests)
    found = graphical_test(np.minimum(1.0, p[known] / spent[known]), holm(int(known.sum())))
    return _in_place(known, found.adjusted_p, found.level * spent[known])


def _in_place(known: np.ndarray, *columns: np.ndarray) -> list[Corrected]:
    """Return the known tests among the others, which have none."""
    rows = zip(*(each.tolist() for each in columns), strict=True)
    return [Corrected(*map(finite, next(rows))) if there else Corrected(None, None) for there in known]


def _equivalence(cells: Mapping[Cell, CellTest]) -> dict[Cell, float | None]:
    """Return the p of the equivalence tests, after Holm's correction over the arms of each metric."""
    found: dict[Cell, float | None] = {}
    for metric in dict.fromkeys(name for _, name in cells):
        family = [cell for cell in cells if cell[1] == metric]
        tests = [cells[cell] for cell in family]
        margins = [(test, test.margin) for test in tests]
        p_values = [
            None if margin is None else test.spent(finite(equivalence_p(test.estimate, margin).item()))
            for test, margin in margins
        ]
        found |= zip(family, holm_p(p_values), strict=True)
    return found


def verdict_of(metric: Metric, delta: float, p_adjusted: float | None, p_equivalence: float | None) -> Verdict:
    """Return the verdict; a significant difference within the margin counts as no difference."""
    if p_equivalence is not None and p_equivalence <= ALPHA:
        return Verdict.NO_DIFFERENCE
    if p_adjusted is None or p_adjusted > ALPHA:
        return Verdict.UNDECIDED
    return Verdict.HELPS if metric.better(delta, 0.0) else Verdict.HURTS


def _chance(test: CellTest, delta: float, level: float, level_within: float) -> Callable[[int], float]:
    margin = test.margin

    def chance(seeds: int) -> float:
        error, degrees = test.at(seeds)
        detection = power_of_t(abs(delta) / error, degrees, level)
        if margin is None:
            return detection
        low, high = ((bound - delta) / error for bound in (-margin, margin))
        return max(detection, power_of_t_within(low, high, degrees, level_within))

    return chance
