"""Surrogate-based sampling: start the candidate that a Gaussian process over features ranks best, or a random one.

The process learns the logarithm of ranks in place of values, so that outliers among the worst candidates have no
influence.
"""

import numpy as np

from runners.replay.incremental_gp import IncrementalGaussianProcess
from runners.replay.simulation import Numbers

FEWEST_OBSERVED = 8  # observed candidates before the process is used
RANDOM_SHARE = 0.1  # share of candidates started at random


class SurrogateSampler:
    """Learns from started candidates and chooses the next; they are rows of `features` [candidates, features]."""

    def __init__(self, features: Numbers, generator: np.random.Generator) -> None:
        self._process = IncrementalGaussianProcess(features)
        self._no_features = features.shape[1] == 0
        self._chance = generator

    def learn(self, candidate: int, forecasts: Numbers) -> None:
        """Add a started candidate; `forecasts` [candidates] are of final values, smaller is better."""
        self._process.learn(candidate, forecasts)

    def next_candidate(self, forecasts: Numbers, next_unstarted: int) -> int:
        """Return a candidate of the pool, or `next_unstarted`, the next in random order, if too few are observed."""
        observed = self._process.observed
        if len(observed) < FEWEST_OBSERVED or self._no_features or self._chance.random() < RANDOM_SHARE:
            return next_unstarted
        ranks = forecasts[observed].argsort(kind="stable").argsort()
        return int(self._process.pool[np.argmin(self._process.expect(np.log(ranks + 2.0)))])
