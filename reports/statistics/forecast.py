"""Forecasts: each arm's mean held-out curve extrapolated to a budget that nothing was trained on.

The mean curve follows a power law with a floor; what seeds differ by is added, and intervals are as much wider as
hiding the last part of the recorded curves shows they must be. Nothing here was measured.
"""

from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from jaxtyping import Float

from analysis.power_law import DRAWS
from configuration.metrics import HELD_OUT_LOSS
from foundation.randomness import stream
from reports.statistics.backtest import Curve, Widening, law_of, widening
from reports.statistics.metrics import Metric
from reports.statistics.results import Results

STEPS = 40
"""Budgets from the tokens seen to the declared budget, at which arms are compared."""
LOSS = Metric(HELD_OUT_LOSS)


@dataclass(frozen=True)
class ArmForecast:
    """Draws of an arm's mean loss from the tokens seen to the budget, a row per draw; equally likely."""

    arm: str
    n: int
    seen: int
    loss: float
    draws: Float[np.ndarray, "draws steps"]


@dataclass(frozen=True)
class Forecast:
    """All arms at the same larger budgets, and how their intervals were judged."""

    tokens: Float[np.ndarray, "steps"]  # noqa: F821
    arms: tuple[ArmForecast, ...]
    judged: Widening

    @property
    def ratio(self) -> float:
        """How far ahead the forecasts go, in times the tokens seen."""
        return float(self.tokens[-1] / self.tokens[0])


def forecast_of(results: Results) -> Forecast | None:
    """Return the forecasts at a larger budget; None where none is declared or curves are too short."""
    asked = results.experiment.forecast
    if asked is None or asked.tokens <= results.experiment.pretraining.tokens:
        return None
    curves = {arm.name: results.learning_curves(arm.name) for arm in results.arms}
    curves = {arm: of_seeds for arm, of_seeds in curves.items() if of_seeds}
    if not curves:
        return None
    seen = max(max(curve) for of_seeds in curves.values() for curve in of_seeds)
    alone = {f"{arm} {number}": c for arm, of_seeds in curves.items() for number, c in enumerate(of_seeds)}
    judged = widening(alone, asked.tokens / seen)
    tokens = np.geomspace(seen, asked.tokens, STEPS)
    arms = (
        arm_forecast(arm, of_seeds, tokens, judged) for arm, of_seeds in curves.items() if max(of_seeds[0]) == seen
    )
    return Forecast(tokens, tuple(arm for arm in arms if arm), judged)


def arm_forecast(
    arm: str,
    curves: tuple[Curve, ...],
    tokens: Float[np.ndarray, "steps"],  # noqa: F821
    judged: Widening,
) -> ArmForecast | None:
    """Return an arm's draws from its seeds' curves, None where they are too short."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    mean = {at: fmean(curve[at] for curve in curves) for at in shared}
    law = law_of(arm, mean)
    if law is None:
        return None
    draws = law.at(tokens)
    middle = np.median(draws, axis=0)
    widened = np.array([judged.at(ratio) for ratio in (tokens / tokens[0]).tolist()])
    draws = middle + widened * (draws - middle)
    if len(curves) > 1:
        ends = [curve[shared[-1]] for curve in curves]
        student = stream(0, f"seeds ahead {arm}").standard_t(len(ends) - 1, DRAWS)
        draws = draws + student[:, None] * stdev(ends) / len(ends) ** 0.5
    return ArmForecast(arm, len(curves), shared[-1], mean[shared[-1]], draws)
