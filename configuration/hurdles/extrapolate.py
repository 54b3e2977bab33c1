"""Freeze-thaw: extrapolated curves decide which trials of a cohort continue. Swersky et al. 2014, arXiv 1406.3896.

Every trial trains to the first rung and is frozen. In every round the trials with the best lower confidence bound
(predicted final value less `optimism` standard deviations) are thawed for one more rung, until the cohort has spent
its advances. A round waits for all trials of the previous round, so that the order of arrival has no effect.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from analysis.learning_curve import Numbers, predict_final
from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population, State, TrialView, finite
from configuration.hurdles.rungs import Rungs
from foundation.schema import Count

CurveModel = Callable[[Numbers, Numbers | None], tuple[Numbers, Numbers]]
"""From curves [candidates, points] and features [candidates, features] to each final value's mean and sd."""

GRID = 40  # evenly spaced points at which a curve is interpolated


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


def lower_bounds(
    population: Population, cohort: int, optimism: float, model: CurveModel = predict_final
) -> dict[str, float]:
    """Return the lower confidence bound of each started trial's final value, by name.

    The curves of earlier cohorts are complete. Those of the current cohort count up to the last rung reached, since
    the progress past it, and the baseline's progress, depend on speed.
    """
    known = {
        trial: trial.curve if trial.cohort < cohort else trial.curve[: trial.points_at_last_rung]
        for trial in population.trials
        if trial.cohort < cohort or (trial.cohort == cohort and not trial.exempt)
    }
    started = [trial for trial, curve in known.items() if curve]
    curves = np.array([_on_grid(known[trial], population.tokens) for trial in started])
    features = np.array([trial.features for trial in started])
    mean, sd = model(curves, features if features.size else None)
    return {trial.name: float(m - optimism * d) for trial, m, d in zip(started, mean, sd, strict=True)}


def _on_grid(curve: tuple[tuple[int, float], ...], tokens: int) -> Numbers:
    """Return a curve at evenly spaced token counts up to the end of the budget, NaN beyond its last point."""
    grid = np.arange(1, GRID + 1) * (tokens / GRID)
    token_counts, values = np.array(curve, dtype=np.float64).T
    interpolated: Numbers = np.interp(grid, token_counts, values)
    interpolated[grid > token_counts[-1] * (1 + 1e-9)] = np.nan
    if np.isnan(interpolated).all():
        interpolated[0] = values[-1]  # a curve that ends before the first grid point
    return interpolated
