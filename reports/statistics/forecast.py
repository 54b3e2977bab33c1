"""Forecasts: each arm's mean learning curve extrapolated to a budget that no arm was trained on.

The mean curve follows a power law with a floor. The draws include the variation between seeds, and intervals are
rescaled by a backtest on the hidden ends of the recorded curves.
"""

from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from jaxtyping import Float

from analysis.power_law import DRAWS
from configuration.metrics import HELD_OUT_LOSS
from foundation.randomness import stream
from reports.statistics.backtest import Curve, Widening, law_of, widening
from reports.statistics.curves import longest_curves
from reports.statistics.metrics import Metric
from reports.statistics.results import Results

STEPS = 40
"""Number of budgets, from the tokens seen to the declared budget, at which arms are compared."""
LOSS = Metric(HELD_OUT_LOSS)


@dataclass(frozen=True)
class ArmForecast:
    """Equally weighted draws of an arm's mean loss from the tokens seen to the budget, one row per draw."""

    arm: str
    n: int
    seen: int
    loss: float
    draws: Float[np.ndarray, "draws steps"]


@dataclass(frozen=True)
class Forecast:
    """Forecasts of all arms at the same budgets, and the calibration of their intervals."""

    tokens: Float[np.ndarray, "steps"]  # noqa: F821
    arms: tuple[ArmForecast, ...]
    judged: Widening

    @property
    def ratio(self) -> float:
        """Horizon of the forecasts, in times the tokens seen."""
        return float(self.tokens[-1] / self.tokens[0])


def forecast_of(results: Results) -> Forecast | None:
    """Return the declared forecasts; None without a declaration or if all curves are too short."""
    if results.experiment.forecast is None:
        return None
    curves = {arm.name: longest_curves(results.trials[arm.name]) for arm in results.arms}
    curves = {arm: seed_curves for arm, seed_curves in curves.items() if seed_curves}
    if not curves:
        return None
    seen = max(max(curve) for seed_curves in curves.values() for curve in seed_curves)
    by_seed = {f"{arm} {number}": c for arm, seed_curves in curves.items() for number, c in enumerate(seed_curves)}
    judged = widening(by_seed, results.experiment.forecast.tokens / seen)
    tokens = np.geomspace(seen, results.experiment.forecast.tokens, STEPS)
    arms = (
        arm_forecast(arm, seed_curves, tokens, judged)
        for arm, seed_curves in curves.items()
        if max(seed_curves[0]) == seen
    )
    return Forecast(tokens, tuple(arm for arm in arms if arm), judged)


def arm_forecast(
    arm: str,
    curves: tuple[Curve, ...],
    tokens: Float[np.ndarray, "steps"],  # noqa: F821
    judged: Widening,
) -> ArmForecast | None:
    """Return an arm's draws from the curves of its seeds; None if they are too short."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    mean = {at: fmean(curve[at] for curve in curves) for at in shared}
    law = law_of(arm, mean)
    if law is None:
        return None
    draws = law.at(tokens)
    median = np.median(draws, axis=0)
    widened = np.array([judged.at(ratio) for ratio in (tokens / tokens[0]).tolist()])
    draws = median + widened * (draws - median)
    if len(curves) > 1:
        ends = [curve[shared[-1]] for curve in curves]
        student = stream(0, f"seeds ahead {arm}").standard_t(len(ends) - 1, DRAWS)
        draws = draws + student[:, None] * stdev(ends) / len(ends) ** 0.5
    return ArmForecast(arm, len(curves), shared[-1], mean[shared[-1]], draws)
