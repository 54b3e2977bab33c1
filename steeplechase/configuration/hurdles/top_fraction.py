"""Successive halving by cohort: the best of each cohort continue. Jamieson and Talwalkar 2016, arXiv 1502.07943."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from steeplechase.configuration.hurdles.cohorts import best_of_cohorts, most_of_cohort
from steeplechase.configuration.hurdles.decision import HurdleDecision
from steeplechase.configuration.hurdles.population import Population
from steeplechase.configuration.hurdles.rungs import Rungs

PartOfOne = Annotated[float, Field(gt=0, lt=1)]


class TopFraction(Rungs):
    """Continues a share of the cohort's trials with finite values at every rung, at least one."""

    kind: Literal["top_fraction"] = "top_fraction"
    """Chooses successive halving by cohort."""
    keep: PartOfOne = 0.5
    """Share of a cohort that continues at every rung; 0.5 halves it."""

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each cohort that can finish, without ties."""
        return tuple(most_of_cohort(size, self.keep, len(self.rungs)) for size in cohorts)

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions on the cohorts that are complete at a rung; other cohorts wait."""
        return best_of_cohorts(population, self.keep)
