"""Asynchronous successive halving, stopping form. Li et al. 2020, arXiv 1810.05934; the form is that of Ray Tune.

No trial waits for a cohort: it goes on if it is among the best of those that reached its rung before it. "Before"
means declared before, so that the order of arrival changes nothing: a trial waits until these have passed or ended.
"""

from typing import Literal

from configuration.hurdles.cohorts import compared, threshold_of
from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.hyperband import ReductionFactor
from configuration.hurdles.population import Population, State
from configuration.hurdles.rungs import Rungs


class Asha(Rungs):
    """The best 1/reduction_factor of those declared so far go on; the first always does."""

    kind: Literal["asha"] = "asha"
    """Chooses asynchronous successive halving."""
    reduction_factor: ReductionFactor = 3.0
    """The best 1/reduction_factor go on (η). Default: 3; Li et al. 2018, section 3.6, advise 3 or 4."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial whose predecessors have all reached the rung or ended."""
        judged = [one for one in population.trials if not one.exempt]
        verdicts: dict[str, HurdleDecision] = {}
        for place, one in enumerate(judged):
            so_far = judged[: place + 1] if one.state is State.WAITING else []
            if so_far and not any(other.may_still_reach(one.level) for other in so_far):
                threshold, reference_trials = threshold_of(so_far, one.level, 1 / self.reduction_factor)
                verdicts[one.name] = compared(one, threshold, reference_trials)
        return verdicts
