"""Bayesian optimisation of final scores: whole trainings, chosen by two Gaussian processes over configurations.

For final scores without curves, such as NAS-Bench-BERT. One process has the length scale of the features, the other
four times that: the second is nearly a plane, which is what 20 trainings can fit with 40 features, the first bends
where more is known. Both are refitted after every training; their lower confidence bounds, half a standard deviation
below the mean, are standardised and averaged, the first with twice the weight. Length scales and weights were chosen
on NAS-Bench-BERT itself and on synthetic surfaces, as docs/replay.md reports.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import GaussianProcess, smooth
from runners.replay.simulation import Action, Numbers, View

RANDOM_FIRST = 3  # trainings before the first fit
LENGTH_SCALES = ((1.0, 2.0), (4.0, 1.0))  # with the weight of each process
EXPLORATION = 0.5  # standard deviations below the mean
HISTORY = 128  # trainings fitted, the best half and the latest: a decision takes milliseconds
POOL, SHORTLIST = 1000, 200  # unstarted candidates compared, and those of the best means with a bound


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Train one candidate after the other to the end."""
    features = _standardised(view.features)
    known, unstarted = np.zeros(0, dtype=np.int64), np.arange(len(view.reached))
    while len(unstarted):
        candidate = int(unstarted[0] if len(known) < RANDOM_FIRST else _best(view, features, known, unstarted[:POOL]))
        known, unstarted = np.append(known, candidate), unstarted[unstarted != candidate]
        yield Action(candidate, len(view.costs))


def _standardised(features: Numbers) -> Numbers:
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _best(view: View, features: Numbers, known: NDArray[np.int64], pool: NDArray[np.int64]) -> int:
    final = view.observed[known, np.maximum(view.reached[known] - 1, 0)]
    finite = np.isfinite(final)
    if not finite.any() or not features.shape[1]:
        return int(pool[0])
    targets = np.where(finite, final, final[finite].max())  # a diverged candidate is as bad as the worst
    kept = _kept_in_history(targets)
    ranking = np.zeros(len(pool))
    for length, weight in LENGTH_SCALES:
        covariance = partial(smooth, length=length)
        process = GaussianProcess.fitted(features[known[kept]], targets[kept], covariance=covariance)
        bound = _lower_bounds(process, features[pool])
        ranking += weight * (bound - bound.mean()) / (bound.std() or 1.0)
    return int(pool[np.argmin(ranking)])


def _lower_bounds(process: GaussianProcess, features: Numbers) -> Numbers:
    """Return the mean of each, of those with the best means the lower confidence bound."""
    bound = process.expect(features)
    short = np.argsort(bound, kind="stable")[:SHORTLIST]
    mean, sd = process.predict(features[short])
    bound[short] = mean - EXPLORATION * sd
    return bound


def _kept_in_history(targets: Numbers) -> NDArray[np.int64]:
    if len(targets) <= HISTORY:
        return np.arange(len(targets))
    best = np.argsort(targets, kind="stable")[: HISTORY // 2]
    return np.union1d(best, np.arange(len(targets) - HISTORY // 2, len(targets)))
