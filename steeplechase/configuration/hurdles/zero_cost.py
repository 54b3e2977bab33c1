"""A hurdle before any training: a zero-cost proxy of the untrained model. Abdelfattah et al. 2021, arXiv 2101.08134.

A proxy is computed on one batch at initialisation. It costs one forward and one backward pass, some thousandths of a
small training; whether it ranks candidates as training does is what the audit measures.
"""

from collections.abc import Sequence
from typing import Literal

from steeplechase.configuration.hurdles.cohorts import best_of_cohorts, most_of_cohort
from steeplechase.configuration.hurdles.decision import HurdleDecision
from steeplechase.configuration.hurdles.population import Population
from steeplechase.configuration.hurdles.rungs import WithoutProbe
from steeplechase.configuration.hurdles.top_fraction import PartOfOne

ProxyName = Literal["gradient_norm", "synaptic_saliency"]
"""A file of `runners/training/proxies`, which has the formula."""


class ZeroCost(WithoutProbe):
    """Trains a share of each cohort: those with the largest proxy, at least one; all with a tie at the threshold."""

    kind: Literal["zero_cost"] = "zero_cost"
    """Chooses the hurdle of a zero-cost proxy, before any training."""
    proxy: ProxyName = "synaptic_saliency"
    """The number that is compared, larger is better: `gradient_norm` or `synaptic_saliency`."""
    keep: PartOfOne = 0.5
    """Share of a cohort that is trained."""

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values pass: proxies are larger for better candidates."""
        return True

    @property
    def compared(self) -> str:
        """What is compared, for reports: the proxy."""
        return "proxy"

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each cohort that can finish, without ties."""
        return tuple(most_of_cohort(size, self.keep, hurdles=1) for size in cohorts)

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions on the cohorts whose proxies are complete; other cohorts wait."""
        return best_of_cohorts(population, self.keep)
