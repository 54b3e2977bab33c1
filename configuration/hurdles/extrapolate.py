"""Freeze and thaw: all of a cohort begin, then only what promises most goes on. Swersky et al. 2014, arXiv 1406.3896.

Every trial trains to the first rung and is frozen. In every round those with the best lower confidence bound, the
predicted final value less `optimism` standard deviations, are thawed for one more rung, until the cohort has had its
advances. A round waits for all that the last one thawed, so that the order of arrival changes nothing.
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

GRID = 40  # evenly spaced points that a curve is read at


class Extrapolate(Rungs):
    """How many advances by one mark a cohort has, how many at once, and how much doubt counts as promise."""

    kind: Literal["extrapolate"] = "extrapolate"
    """Chooses freeze-thaw: extrapolated curves decide who goes on."""
    advances: Count = 6
    """Advances by one mark that a cohort may spend, over all its members and rungs."""
    at_once: Count = 1
    """Candidates that advance together before the next decision."""
    optimism: float = 1.0
    """Standard deviations of the prediction that count as promise; 0 looks at the mean alone."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return the decisions of the next round; those that stay frozen get none until the advances are spent."""
        verdicts: dict[str, HurdleDecision] = {}
        for cohort in sorted({one.cohort for one in population.waiting}):
            members = population.cohort(cohort)
            frozen = [one for one in members if one.state is State.WAITING]
            verdicts |= {one.name: HurdleDecision(False, None, None) for one in frozen if one.value is None}
            if not any(one.state is State.MOVING for one in members):
                verdicts |= self._round(population, members, [one for one in frozen if one.value is not None])
        return verdicts

    def _round(
        self, population: Population, members: tuple[TrialView, ...], frozen: list[TrialView]
    ) -> dict[str, HurdleDecision]:
        spent = sum(verdict.cleared for one in members for verdict in one.verdicts)
        left = self.advances - spent
        bounds = lower_bounds(population, frozen[0].cohort, self.optimism) if frozen else {}
        ranked = sorted(frozen, key=lambda one: (bounds[one.name], one.name))
        names = tuple(sorted(one.name for one in frozen))
        if left <= 0:
            return {one.name: HurdleDecision(False, finite(bounds[one.name]), None, names) for one in frozen}
        thawed = ranked[: min(left, self.at_once)]
        threshold = finite(bounds[thawed[-1].name]) if thawed else None
        return {one.name: HurdleDecision(True, finite(bounds[one.name]), threshold, names) for one in thawed}


def lower_bounds(
    population: Population, cohort: int, optimism: float, model: CurveModel = predict_final
) -> dict[str, float]:
    """Return by name the lower confidence bound of each started trial's final value.

    Earlier cohorts have ended, so their curves are known whole. Of the present one only points up to the last rung
    reached count: how far trials past the last hurdle have come depends on their speed, and so does the baseline.
    """
    known = {
        one: one.curve if one.cohort < cohort else one.curve[: one.settled]
        for one in population.trials
        if one.cohort < cohort or (one.cohort == cohort and not one.exempt)
    }
    started = [one for one, curve in known.items() if curve]
    curves = np.array([_on_grid(known[one], population.tokens) for one in started])
    features = np.array([one.features for one in started])
    mean, sd = model(curves, features if features.size else None)
    return {one.name: float(m - optimism * d) for one, m, d in zip(started, mean, sd, strict=True)}


def _on_grid(curve: tuple[tuple[int, float], ...], tokens: int) -> Numbers:
    """Return a curve at evenly spaced points up to the end of the budget, NaN beyond its last point."""
    places = np.arange(1, GRID + 1) * (tokens / GRID)
    at, values = np.array(curve, dtype=np.float64).T
    read: Numbers = np.interp(places, at, values)
    read[places > at[-1] * (1 + 1e-9)] = np.nan
    if np.isnan(read).all():
        read[0] = values[-1]  # nearer to the start than the first point
    return read
