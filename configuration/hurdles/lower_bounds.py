"""Lower confidence bounds of the final values of a cohort's trials, by extrapolation of their curves."""

from collections.abc import Callable

import numpy as np

from analysis.learning_curve import Numbers, predict_final
from configuration.hurdles.population import Population

CurveModel = Callable[[Numbers, Numbers | None], tuple[Numbers, Numbers]]
"""From curves [candidates, points] and features [candidates, features] to each final value's mean and sd."""

GRID = 40  # evenly spaced points at which a curve is interpolated


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
