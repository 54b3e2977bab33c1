"""Hyperband: cohorts take turns at being halved early or late. Li et al. 2018, arXiv 1603.06560, algorithm 1.

A cohort is a bracket. The first meets every hurdle; the next is let past the first hurdle, and so on to one that
nothing stops; then it begins anew. Later brackets are smaller, so that each spends about as much. The paper's
resources grow by the reduction factor from rung to rung; here they are the rungs, which should do the same.
"""

import math
from typing import Annotated, Literal

from pydantic import Field

from configuration.hurdles.cohorts import best_of_cohorts
from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population
from configuration.hurdles.rungs import Rungs

ReductionFactor = Annotated[float, Field(gt=1)]


class Hyperband(Rungs):
    """Brackets over the rungs; `design.cohort` is the size of the first, which meets every hurdle."""

    kind: Literal["hyperband"] = "hyperband"
    """Chooses Hyperband's brackets."""
    reduction_factor: ReductionFactor = 3.0
    """The best 1/reduction_factor go on (η). Default: 3; Li et al. 2018, section 3.6, advise 3 or 4."""

    def bracket(self, cohort: int) -> int:
        """Return how many hurdles a cohort is let past."""
        return cohort % (len(self.rungs) + 1)

    def cohort_size(self, number: int, asked: int) -> int:
        """Return a bracket's size relative to the first one's (algorithm 1, line 3)."""
        rungs, skipped = len(self.rungs) + 1, self.bracket(number)
        share = rungs / (rungs - skipped) * self.reduction_factor**-skipped
        return max(1, math.ceil(asked * share - 1e-9))

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions: a trial with a finite value clears every hurdle that its bracket does not have."""
        free = {
            one.name: HurdleDecision(one.value is not None, one.value, None)
            for one in population.waiting
            if one.level < self.bracket(one.cohort)
        }
        held = best_of_cohorts(population, 1 / self.reduction_factor)
        return {**held, **free}
