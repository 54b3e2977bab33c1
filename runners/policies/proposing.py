"""Which candidate to start next: whom a Gaussian process over features expects to rank best, or one at random.

The process learns the logarithm of ranks, not values: it cares who is best and is deaf to how bad the worst are.
"""

import numpy as np
from numpy.typing import NDArray

from runners.policies.gaussian_process import GaussianProcess
from runners.policies.race import Numbers

FEW = 8  # candidates to know before features are asked
POOL = 400  # fresh candidates that are looked at, the next ones in the order of drawing
HISTORY = (
    256  # candidates that are learnt from: the best half and the latest, so that a decision stays in milliseconds
)
AT_RANDOM = 0.1  # share of candidates started without asking


def propose(
    features: Numbers,
    promises: Numbers,
    known: NDArray[np.int64],
    fresh: NDArray[np.int64],
    chance: np.random.Generator,
) -> int:
    """Return one of `fresh`, given the promise (smaller is better) of each of `known` [known]."""
    pool = fresh[:POOL]
    if len(known) < FEW or features.shape[1] == 0 or chance.random() < AT_RANDOM:
        return int(pool[0])
    learnt = _remembered(promises)
    ranks = promises[learnt].argsort(kind="stable").argsort()
    process = GaussianProcess.fitted(features[known[learnt]], np.log(ranks + 2.0))
    return int(pool[np.argmin(process.expect(features[pool]))])


def _remembered(promises: Numbers) -> NDArray[np.int64]:
    if len(promises) <= HISTORY:
        return np.arange(len(promises))
    best = np.argpartition(promises, HISTORY // 2)[: HISTORY // 2]
    latest = np.arange(len(promises) - HISTORY // 2, len(promises))
    return np.union1d(best, latest)
