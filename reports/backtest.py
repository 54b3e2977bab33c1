"""How far forecasts have been off: the last part of recorded curves is hidden and forecast from what comes before.

The errors, in half widths of the forecasts' own 90% intervals, say how much wider those have to be: conformal
prediction's rank, Vovk, Gammerman and Shafer 2005, "Algorithmic Learning in a Random World", section 2.2.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from reports.power_law import FEWEST_POINTS, PowerLaw

COVERAGE = 0.9
NARROWEST = 0.7
"""Intervals are made no narrower than this share of their own, however good the forecasts were."""
ENOUGH = 10
"""Forecasts that must have been judged before intervals are made narrower at all."""

Curve = Mapping[int, float]
"""Held-out loss by tokens seen."""


def widening(curves: Mapping[str, Curve], ratio: float) -> tuple[float, int, float]:
    """Return how many times as wide intervals must be, from how many forecasts that is known, and how far ahead.

    Forecasts are judged as far ahead, in times the tokens seen, as asked or as the shortest curve lets be hidden.
    Without any, intervals stay as they are.
    """
    ahead = min([ratio, *(_furthest(curve) for curve in curves.values())])
    if ahead <= 1:
        return 1.0, 0, 1.0
    judged = (_error(name, curve, ahead) for name, curve in curves.items())
    errors = sorted(error for error in judged if error is not None)
    if not errors:
        return 1.0, 0, 1.0
    rank = min(len(errors), math.ceil((len(errors) + 1) * COVERAGE))
    narrowest = NARROWEST if len(errors) >= ENOUGH else 1.0
    return max(narrowest, errors[rank - 1]), len(errors), ahead


def _furthest(curve: Curve) -> float:
    """Return the most times its tokens that a curve can be asked to foretell with twice the fewest points kept."""
    seen = sorted(curve)
    return seen[-1] / seen[2 * FEWEST_POINTS - 1] if len(seen) > 2 * FEWEST_POINTS else 1.0


def _error(name: str, curve: Curve, ahead: float) -> float | None:
    end = max(curve)
    seen = {tokens: value for tokens, value in curve.items() if tokens * ahead <= end * (1 + 1e-9)}
    return error_of(name, seen, end, curve[end])


def error_of(name: str, seen: Curve, tokens: int, value: float) -> float | None:
    """Return how far a forecast is from what came, in half widths of its interval; None where none can be made."""
    law = law_of(name, seen)
    if law is None:
        return None
    middle, half = band(law.at(np.array([float(tokens)]))[:, 0] + law.noise)
    return abs(value - middle) / half


def law_of(name: str, curve: Curve) -> PowerLaw | None:
    """Return the law of a curve, None where it has too few points."""
    seen = sorted(curve)
    return PowerLaw.fit(np.array(seen, dtype=float), np.array([curve[tokens] for tokens in seen]), name)


def band(draws: Iterable[float] | np.ndarray) -> tuple[float, float]:
    """Return the median of the draws and half the width of their 90% interval."""
    tail = (1 - COVERAGE) / 2
    low, middle, high = np.quantile(np.asarray(draws), (tail, 0.5, 1 - tail))
    return float(middle), float(high - low) / 2
