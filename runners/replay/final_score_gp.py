"""Whole trainings of whom two Gaussian processes over configurations expect to do best, with some credit for doubt.

For final scores without curves, such as NAS-Bench-BERT. One process is smooth at the scale of the features, the other
at four times that: the second is nearly a plane, which is what 20 trainings can teach about 40 features, the first
bends where more is known. Both are refitted after every training; their promises, a mean less half a standard
deviation, are brought to one scale and averaged, two parts of the first. Lengths and parts were chosen on
NAS-Bench-BERT itself and on made-up surfaces, as docs/replay.md tells.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import GaussianProcess, smooth
from runners.replay.simulation import Action, Numbers, View

AT_RANDOM = 3  # candidates to know before features are asked
PARTS = ((1.0, 2.0), (4.0, 1.0))  # length and weight of each process
CREDIT = 0.5  # standard deviations
HISTORY = 128  # trainings learnt from, the best half and the latest, so that a decision stays in milliseconds
POOL, SHORTLIST = 1000, 200  # fresh candidates that are looked at, and those of the best means whose doubt is asked


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Train one candidate after the other to the end."""
    features = _standardised(view.features)
    known, fresh = np.zeros(0, dtype=np.int64), np.arange(len(view.reached))
    while len(fresh):
        candidate = int(fresh[0] if len(known) < AT_RANDOM else _best(view, features, known, fresh[:POOL]))
        known, fresh = np.append(known, candidate), fresh[fresh != candidate]
        yield Action(candidate, len(view.costs))


def _standardised(features: Numbers) -> Numbers:
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _best(view: View, features: Numbers, known: NDArray[np.int64], pool: NDArray[np.int64]) -> int:
    final = view.observed[known, np.maximum(view.reached[known] - 1, 0)]
    finite = np.isfinite(final)
    if not finite.any() or not features.shape[1]:
        return int(pool[0])
    targets = np.where(finite, final, final[finite].max())  # who diverged is as bad as the worst
    learnt = _remembered(targets)
    ranking = np.zeros(len(pool))
    for length, weight in PARTS:
        covariance = partial(smooth, length=length)
        process = GaussianProcess.fitted(features[known[learnt]], targets[learnt], covariance=covariance)
        promise = _promise(process, features[pool])
        ranking += weight * (promise - promise.mean()) / (promise.std() or 1.0)
    return int(pool[np.argmin(ranking)])


def _promise(process: GaussianProcess, features: Numbers) -> Numbers:
    """Return the mean of each, less the credit for doubt of those with the best means."""
    promise = process.expect(features)
    short = np.argsort(promise, kind="stable")[:SHORTLIST]
    mean, sd = process.predict(features[short])
    promise[short] = mean - CREDIT * sd
    return promise


def _remembered(targets: Numbers) -> NDArray[np.int64]:
    if len(targets) <= HISTORY:
        return np.arange(len(targets))
    best = np.argsort(targets, kind="stable")[: HISTORY // 2]
    return np.union1d(best, np.arange(len(targets) - HISTORY // 2, len(targets)))
