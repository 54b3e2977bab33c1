"""Freeze-thaw: extrapolated curves decide which trials of a cohort continue. Swersky et al. 2014, arXiv 1406.3896.

Every trial trains to the first rung and is frozen. In every round the trials with the best lower confidence bound
(predicted final value less `optimism` standard deviations) are thawed for one more rung, until the cohort has spent
its advances. A round waits for all trials of the previous round, so that the order of arrival has no effect.
"""

from typing import Literal

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population, State, TrialView, finite
from configuration.hurdles.rungs import Rungs
from foundation.schema import Count


class Extrapolate(Rungs):
    """Number of advances by one rung per cohort, number at a time, and the weight of the predictive uncertainty."""

    kind: Literal["extrapolate"] = "extrapolate"
    """Chooses freeze-thaw: extrapolated curves decide which trials continue."""
    advances: Count = 6
    """Advances by one rung that a cohort may spend, over all its trials and rungs."""
    at_once: Count = 1
    """Candidates that advance together before the next decision."""
    optimism: float = 1.0
    """Standard deviations subtracted from the predicted mean; 0 ranks by the mean alone."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions of the next round; frozen trials get none until the advances are spent."""
        decisions: dict[str, HurdleDecision] = {}
        for cohort in sorted({trial.cohort for trial in population.waiting}):
            members = population.cohort(cohort)
            frozen = [trial for trial in members if trial.state is State.WAITING]
            decisions |= {trial.name: HurdleDecision(False, None, None) for trial in frozen if trial.value is None}
            if not any(trial.state is State.MOVING for trial in members):
                decisions |= self._round(population, members, [trial for trial in frozen if trial.value is not None])
        return decisions

    def _round(
        self, population: Population, members: tuple[TrialView, ...], frozen: list[TrialView]
    ) -> dict[str, HurdleDecision]:
        from configuration.hurdles.lower_bounds import lower_bounds  # numpy, which declarations do without

        spent = sum(decision.cleared for trial in members for decision in trial.decisions)
        remaining = self.advances - spent
        bounds = lower_bounds(population, frozen[0].cohort, self.optimism) if frozen else {}
        ranked = sorted(frozen, key=lambda trial: (bounds[trial.name], trial.name))
        names = tuple(sorted(trial.name for trial in frozen))
        if remaining <= 0:
            return {trial.name: HurdleDecision(False, finite(bounds[trial.name]), None, names) for trial in frozen}
        thawed = ranked[: min(remaining, self.at_once)]
        threshold = finite(bounds[thawed[-1].name]) if thawed else None
        return {trial.name: HurdleDecision(True, finite(bounds[trial.name]), threshold, names) for trial in thawed}
