"""Hyperband: brackets of successive halving with different first rungs. Li et al. 2018, arXiv 1603.06560, algo. 1.

A cohort is a bracket. The first bracket has every hurdle, the next all but the first hurdle, and so on to a bracket
without hurdles; then the cycle repeats. Later brackets are smaller, so that all have about the same cost. The paper's
resources grow by the reduction factor from rung to rung; the declared rungs should grow in the same way.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from steeplechase.configuration.hurdles.cohorts import best_of_cohorts, most_of_cohort
from steeplechase.configuration.hurdles.decision import HurdleDecision
from steeplechase.configuration.hurdles.population import Population
from steeplechase.configuration.hurdles.rungs import Rungs

ReductionFactor = Annotated[float, Field(gt=1)]


class Hyperband(Rungs):
    """Brackets over the rungs; `design.cohort` is the size of the first bracket, which has every hurdle."""

    kind: Literal["hyperband"] = "hyperband"
    """Chooses Hyperband's brackets."""
    reduction_factor: ReductionFactor = 3.0
    """The best 1/reduction_factor continue (η). Default: 3; Li et al. 2018, section 3.6, advise 3 or 4."""

    def bracket(self, cohort: int) -> int:
        """Return the number of hurdles that a cohort skips."""
        return cohort % (len(self.rungs) + 1)

    def cohort_size(self, number: int, declared_size: int) -> int:
        """Return a bracket's size relative to the first one's (algorithm 1, line 3)."""
        rungs, skipped = len(self.rungs) + 1, self.bracket(number)
        share = rungs / (rungs - skipped) * self.reduction_factor**-skipped
        return max(1, math.ceil(declared_size * share - 1e-9))

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each bracket that can finish, without ties."""
        keep, rungs = 1 / self.reduction_factor, len(self.rungs)
        return tuple(most_of_cohort(size, keep, rungs - self.bracket(number)) for number, size in enumerate(cohorts))

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions; a trial with a finite value clears every hurdle that its bracket skips."""
        skipped = {
            trial.name: HurdleDecision(trial.value is not None, trial.value, None)
            for trial in population.waiting
            if trial.level < self.bracket(trial.cohort)
        }
        return {**best_of_cohorts(population, 1 / self.reduction_factor), **skipped}
