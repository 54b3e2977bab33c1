"""Asynchronous successive halving, stopping form. Li et al. 2020, arXiv 1810.05934; the form is that of Ray Tune.

Nobody waits for a cohort: a trial goes on if it is among the best of those that have been at its mark before it. To
keep that the same whoever arrives first, "before" means declared before: a trial waits until they have all come by.
"""

from typing import Literal

from configuration.hurdles.cohorts import against, bar_of
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

    def decide(self, field: Population) -> dict[str, HurdleDecision]:
        """Return a verdict for everyone whose predecessors are all at the mark or out."""
        judged = [one for one in field.trials if not one.exempt]
        verdicts: dict[str, HurdleDecision] = {}
        for place, one in enumerate(judged):
            so_far = judged[: place + 1] if one.state is State.WAITING else []
            if so_far and not any(other.may_still_reach(one.level) for other in so_far):
                bar, reference_trials = bar_of(so_far, one.level, 1 / self.reduction_factor)
                verdicts[one.name] = against(one, bar, reference_trials)
        return verdicts
