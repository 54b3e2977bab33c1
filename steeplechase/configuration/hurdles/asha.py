"""Asynchronous successive halving, stopping form. Li et al. 2020, arXiv 1810.05934; the form is that of Ray Tune.

No trial waits for a cohort: it continues if it is among the best of the trials before it at its rung. "Before" means
declared before, so that the result is independent of the order of arrival: a trial waits until all trials declared
before it have reached the rung or ended.
"""

from typing import Literal

from steeplechase.configuration.hurdles.cohorts import compared, threshold_of
from steeplechase.configuration.hurdles.decision import HurdleDecision
from steeplechase.configuration.hurdles.hyperband import ReductionFactor
from steeplechase.configuration.hurdles.population import Population
from steeplechase.configuration.hurdles.rungs import Rungs


class Asha(Rungs):
    """Continues the best 1/reduction_factor of the trials declared so far; the first trial always continues."""

    kind: Literal["asha"] = "asha"
    """Chooses asynchronous successive halving."""
    reduction_factor: ReductionFactor = 3.0
    """The best 1/reduction_factor continue (η). Default: 3; Li et al. 2018, section 3.6, advise 3 or 4."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial whose predecessors have all reached the rung or ended."""
        return {
            trial.name: compared(trial, *threshold_of(declared_so_far, trial.level, 1 / self.reduction_factor))
            for trial, declared_so_far in population.decidable_in_order
        }
