"""How far forecasts have been off: the last part of recorded curves is hidden and forecast from what comes before.

The errors, in half widths of the forecasts' own 90% intervals, say how much wider or narrower those have to be. Each
curve is cut at several places, and a curve's errors count together as one (pooled distributions, Dunn, Wasserman and
Ramdas 2022, arXiv 1809.07441); the rank is conformal prediction's, for as many errors as are worth one of their own:
errors of one curve are alike, and Kish's design effect says how much (Kish 1965, "Survey Sampling", section 5.4).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.power_law import PowerLaw

COVERAGE = 0.9
POINTS_KEPT = 8
"""Points before a cut from which a forecast is judged."""
CUTS, FORECASTS_AT_MOST = 4, 120
"""Cuts of each curve, and in all: a report is made in a second."""
RESAMPLES = 2000

Curve = Mapping[int, float]
"""Held-out loss by tokens seen."""


@dataclass(frozen=True)
class Widening:
    """What the hidden ends of recorded curves say of a forecast's width."""

    times: float = 1.0
    """How many times as wide as their own intervals have to be as far ahead as was judged."""
    curves: int = 0
    forecasts: int = 0
    ahead: float = 1.0
    """As far ahead as was judged, in times the tokens seen; less than wanted where the curves are too short."""
    calibrated: bool = False
    """Whether the judged forecasts are worth enough for a rank that holds nine in ten."""
    coverage: tuple[float, float, float] | None = None
    """Share of judged ends in intervals widened by the other curves, with its 95% bootstrap interval over curves."""

    def at(self, ratio: float) -> float:
        """Return how many times as wide intervals have to be at `ratio` times the tokens seen.

        Beyond what was judged they grow with the root of the distance in powers of e, as a random walk's would.
        """
        if not self.beyond(ratio) or self.ahead <= 1:
            return self.times
        return max(1.0, self.times) * math.sqrt(math.log(ratio) / math.log(self.ahead))

    def beyond(self, ratio: float) -> bool:
        """Return whether `ratio` times the tokens seen is further than was judged."""
        return ratio > self.ahead * (1 + 1e-9)  # the last bits are rounding


def widening(curves: Mapping[str, Curve], ratio: float) -> Widening:
    """Return how many times as wide intervals must be to hold nine in ten `ratio` times as far as curves go.

    Without any forecast that could be judged, intervals stay as they are; with fewer than are worth nine, they are
    as wide as the furthest error and never narrower than their own.
    """
    ahead = min([ratio, *map(_furthest, curves.values())]) if curves else 1.0
    if ahead <= 1:
        return Widening()
    cuts = max(1, min(CUTS, FORECASTS_AT_MOST // len(curves)))
    judged = [list(_errors(name, curve, ahead, cuts)) for name, curve in curves.items()]
    judged = [errors for errors in judged if errors]
    if not judged:
        return Widening()
    times, count = _nine_in_ten(judged), sum(map(len, judged))
    return Widening(times, len(judged), count, ahead, _rank(judged) < 1, _left_out_coverage(judged))


def _rank(judged: Sequence[Sequence[float]]) -> float:
    """Return conformal prediction's level for what these errors are worth; at least 1 where they are too few."""
    worth = worth_of(judged)
    return COVERAGE * (worth + 1) / worth


def _left_out_coverage(judged: Sequence[Sequence[float]]) -> tuple[float, float, float] | None:
    """Return how often curves' ends lie in intervals that the other curves widen; None with a single curve."""
    if len(judged) < 2:
        return None
    inside = []
    for place, errors in enumerate(judged):
        times = _nine_in_ten([*judged[:place], *judged[place + 1 :]])
        inside.append(float(np.mean([error <= times for error in errors])))
    drawn = np.random.default_rng(0).choice(inside, size=(RESAMPLES, len(inside))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(np.mean(inside)), float(low), float(high)


def _nine_in_ten(judged: Sequence[Sequence[float]]) -> float:
    """Return the error that nine in ten stay below, each curve counting as one, corrected for how few there are."""
    level = _rank(judged)
    pooled = sorted((error, 1 / len(errors) / len(judged)) for errors in judged for error in errors)
    if level >= 1:
        return max(1.0, pooled[-1][0])
    below = np.cumsum([weight for _, weight in pooled])
    return pooled[min(len(pooled) - 1, int(np.searchsorted(below, level - 1e-9)))][0]


def worth_of(judged: Sequence[Sequence[float]]) -> float:
    """Return how many independent errors groups of them are worth: between the groups' number and the errors'.

    The correlation within groups is the analysis of variance's, of ranks, so that a single error far off decides
    nothing.
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
    """Return the largest horizon, in times its tokens, over which a curve can be judged with enough points kept."""
    seen = sorted(curve)
    return seen[-1] / seen[POINTS_KEPT - 1] if len(seen) > POINTS_KEPT else 1.0


def _errors(name: str, curve: Curve, ahead: float, cuts: int) -> Iterator[float]:
    """Yield the errors of forecasts of some of the points that have enough before them, the last one included."""
    seen = sorted(curve)
    kept = {end: [tokens for tokens in seen if tokens * ahead <= end * (1 + 1e-9)] for end in seen}
    ends = [end for end in reversed(seen) if len(kept[end]) >= POINTS_KEPT]
    chosen = sorted({round(place) for place in np.linspace(0, len(ends) - 1, min(cuts, len(ends)))})
    for end in (ends[place] for place in chosen):
        error = error_of(name, {tokens: curve[tokens] for tokens in kept[end]}, end, curve[end])
        if error is not None:
            yield error


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
