"""Backtest of forecasts: the last part of recorded curves is hidden and forecast from the earlier part.

The errors, in half widths of the forecasts' own 90% intervals, give the factor by which the intervals are rescaled.
Each curve is cut at several points, and the errors of a curve have a total weight of one (pooled distributions, Dunn,
Wasserman and Ramdas 2022, arXiv 1809.07441). The quantile is that of conformal prediction for the effective number of
errors: errors of one curve are correlated, and Kish's design effect corrects for it (Kish 1965, "Survey Sampling",
section 5.4).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.power_law import PowerLaw

COVERAGE = 0.9
POINTS_KEPT = 8
"""Minimum number of points before a cut."""
CUTS, FORECASTS_AT_MOST = 4, 120
"""Cuts of each curve and in total, limited so that a report takes about a second."""

Curve = Mapping[int, float]
"""Held-out loss by tokens seen."""


@dataclass(frozen=True)
class Widening:
    """The factor by which forecast intervals are rescaled, and the backtest behind it."""

    times: float = 1.0
    """Factor on the width of the intervals up to the tested horizon."""
    curves: int = 0
    forecasts: int = 0
    ahead: float = 1.0
    """Tested horizon, in times the tokens seen; shorter than requested if the curves are too short."""

    def at(self, ratio: float) -> float:
        """Return the factor on the width of intervals at `ratio` times the tokens seen.

        Beyond the tested horizon it grows with the square root of the logarithm of the ratio, as for a random walk.
        """
        if ratio <= self.ahead * (1 + 1e-9) or self.ahead <= 1:  # tolerance for rounding
            return self.times
        return max(1.0, self.times) * math.sqrt(math.log(ratio) / math.log(self.ahead))


def widening(curves: Mapping[str, Curve], ratio: float) -> Widening:
    """Return the factor on 90% intervals with which they cover nine in ten ends at `ratio` times the tokens.

    Without a testable forecast the factor is 1; with fewer than nine effective errors it is the largest error, at
    least 1.
    """
    ahead = min([ratio, *map(_furthest, curves.values())]) if curves else 1.0
    if ahead <= 1:
        return Widening()
    cuts = max(1, min(CUTS, FORECASTS_AT_MOST // len(curves)))
    judged = [list(_errors(name, curve, ahead, cuts)) for name, curve in curves.items()]
    judged = [errors for errors in judged if errors]
    if not judged:
        return Widening()
    return Widening(_nine_in_ten(judged), len(judged), sum(map(len, judged)), ahead)


def _nine_in_ten(judged: Sequence[Sequence[float]]) -> float:
    """Return the conformal 90% quantile of the errors, with equal total weight per curve."""
    worth = worth_of(judged)
    level = COVERAGE * (worth + 1) / worth
    pooled = sorted((error, 1 / len(errors) / len(judged)) for errors in judged for error in errors)
    if level >= 1:
        return max(1.0, pooled[-1][0])
    below = np.cumsum([weight for _, weight in pooled])
    return pooled[min(len(pooled) - 1, int(np.searchsorted(below, level - 1e-9)))][0]


def worth_of(judged: Sequence[Sequence[float]]) -> float:
    """Return the effective sample size of grouped errors, between the number of groups and the number of errors.

    The intraclass correlation is estimated by analysis of variance on ranks, which is robust to outliers.
    """
    sizes = np.array([len(errors) for errors in judged], dtype=float)
    groups, total = len(sizes), float(sizes.sum())
    if groups < 2 or total == groups:
        return float(groups)
    ranks = np.array([error for errors in judged for error in errors]).argsort().argsort().astype(float)
    split = np.split(ranks, np.cumsum(sizes[:-1]).astype(int))
    between = sum(len(group) * (group.mean() - ranks.mean()) ** 2 for group in split) / (groups - 1)
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in split) / (total - groups)
    size = (total - float((sizes**2).sum()) / total) / (groups - 1)
    alike = min(1.0, max(0.0, (between - within) / (between + (size - 1) * within)))
    return float(total / (1 + (total / groups - 1) * alike))


def _furthest(curve: Curve) -> float:
    """Return the largest testable horizon of a curve: last tokens over the tokens of the last point kept."""
    seen = sorted(curve)
    return seen[-1] / seen[POINTS_KEPT - 1] if len(seen) > POINTS_KEPT else 1.0


def _errors(name: str, curve: Curve, ahead: float, cuts: int) -> Iterator[float]:
    """Yield the errors of forecasts at evenly spaced cuts, the last point included."""
    seen = sorted(curve)
    kept = {end: [tokens for tokens in seen if tokens * ahead <= end * (1 + 1e-9)] for end in seen}
    ends = [end for end in reversed(seen) if len(kept[end]) >= POINTS_KEPT]
    chosen = sorted({round(place) for place in np.linspace(0, len(ends) - 1, min(cuts, len(ends)))})
    for end in (ends[place] for place in chosen):
        error = error_of(name, {tokens: curve[tokens] for tokens in kept[end]}, end, curve[end])
        if error is not None:
            yield error


def error_of(name: str, seen: Curve, tokens: int, value: float) -> float | None:
    """Return the forecast error in half widths of its interval; None if the curve is too short."""
    law = law_of(name, seen)
    if law is None:
        return None
    middle, half = band(law.at(np.array([float(tokens)]))[:, 0] + law.noise)
    return abs(value - middle) / half


def law_of(name: str, curve: Curve) -> PowerLaw | None:
    """Return the power law fitted to a curve; None with too few points."""
    seen = sorted(curve)
    return PowerLaw.fit(np.array(seen, dtype=float), np.array([curve[tokens] for tokens in seen]), name)


def band(draws: Iterable[float] | np.ndarray) -> tuple[float, float]:
    """Return the median of the draws and the half width of their 90% interval."""
    tail = (1 - COVERAGE) / 2
    low, middle, high = np.quantile(np.asarray(draws), (tail, 0.5, 1 - tail))
    return float(middle), float(high - low) / 2
