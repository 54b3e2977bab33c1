"""Whole trainings of whom a Gaussian process over configurations expects to do best, with some credit for doubt.

For final scores without curves, such as NAS-Bench-BERT: a predictor, smooth in all features at once, is refitted
after every training, and the candidate of the lowest mean less half a standard deviation is next. The kernel and
that half were chosen on NAS-Bench-BERT itself, as docs/replay.md tells.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from runners.policies.gaussian_process import GaussianProcess, smooth
from runners.policies.race import Move, Numbers, View

AT_RANDOM = 5  # candidates to know before features are asked
CREDIT = 0.5  # standard deviations
HISTORY = 256  # latest trainings that are learnt from, so that a decision stays in milliseconds
POOL = 1000  # fresh candidates that are looked at


def moves(view: View, chance: np.random.Generator) -> Iterator[Move]:
    """Train one candidate after the other to the end."""
    features = _standardised(view.features)
    known, fresh = np.zeros(0, dtype=np.int64), np.arange(len(view.reached))
    while len(fresh):
        candidate = int(fresh[0] if len(known) < AT_RANDOM else _best(view, features, known[-HISTORY:], fresh[:POOL]))
        known, fresh = np.append(known, candidate), fresh[fresh != candidate]
        yield Move(candidate, len(view.costs))


def _standardised(features: Numbers) -> Numbers:
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _best(view: View, features: Numbers, known: NDArray[np.int64], pool: NDArray[np.int64]) -> int:
    final = view.observed[known, np.maximum(view.reached[known] - 1, 0)]
    finite = np.isfinite(final)
    if not finite.any():
        return int(pool[0])
    targets = np.where(finite, final, final[finite].max())  # who diverged is as bad as the worst
    process = GaussianProcess.fitted(features[known], targets, covariance=smooth)
    mean, sd = process.predict(features[pool])
    return int(pool[np.argmin(mean - CREDIT * sd)])
