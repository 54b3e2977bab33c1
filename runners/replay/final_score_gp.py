"""Bayesian optimisation of final scores: full trainings, chosen by two Gaussian processes over configurations.

For final scores without curves, such as NAS-Bench-BERT. One process has the length scale of the features, the other
four times that: the second is nearly linear, which 20 trainings can fit with 40 features; the first is more flexible.
Both are refitted after every training; their lower confidence bounds, half a standard deviation below the mean, are
standardised and averaged, the first with twice the weight. Length scales and weights were chosen on NAS-Bench-BERT
itself and on synthetic surfaces, as docs/replay.md reports.
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
HISTORY = 128  # trainings in the fit, half the best and half the latest: a decision takes milliseconds
POOL, SHORTLIST = 1000, 200  # unstarted candidates compared, and those with the best means, whose bounds are computed


def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
    """Yield a full training of one candidate after the other."""
    features = _standardised(view.features)
    trained, unstarted = np.zeros(0, dtype=np.int64), np.arange(len(view.reached))
    while len(unstarted):
        candidate = int(
            unstarted[0] if len(trained) < RANDOM_FIRST else _best(view, features, trained, unstarted[:POOL])
        )
        trained, unstarted = np.append(trained, candidate), unstarted[unstarted != candidate]
        yield Action(candidate, len(view.costs))


def _standardised(features: Numbers) -> Numbers:
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _best(view: View, features: Numbers, trained: NDArray[np.int64], pool: NDArray[np.int64]) -> int:
    final = view.observed[trained, np.maximum(view.reached[trained] - 1, 0)]
    finite = np.isfinite(final)
    if not finite.any() or not features.shape[1]:
        return int(pool[0])
    targets = np.where(finite, final, final[finite].max())  # a diverged candidate counts as the worst
    rows = _history_rows(targets)
    ranking = np.zeros(len(pool))
    for length, weight in LENGTH_SCALES:
        covariance = partial(smooth, length=length)
        process = GaussianProcess.fitted(features[trained[rows]], targets[rows], covariance=covariance)
        bound = _lower_bounds(process, features[pool])
        ranking += weight * (bound - bound.mean()) / (bound.std() or 1.0)
    return int(pool[np.argmin(ranking)])


def _lower_bounds(process: GaussianProcess, features: Numbers) -> Numbers:
    """Return the posterior means, replaced by lower confidence bounds for the shortlist of best means."""
    bound = process.expect(features)
    shortlist = np.argsort(bound, kind="stable")[:SHORTLIST]
    mean, sd = process.predict(features[shortlist])
    bound[shortlist] = mean - EXPLORATION * sd
    return bound


def _history_rows(targets: Numbers) -> NDArray[np.int64]:
    if len(targets) <= HISTORY:
        return np.arange(len(targets))
    best = np.argsort(targets, kind="stable")[: HISTORY // 2]
    return np.union1d(best, np.arange(len(targets) - HISTORY // 2, len(targets)))
