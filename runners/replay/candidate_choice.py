"""Surrogate-based sampling: start the candidate that a Gaussian process over features ranks best, or a random one.

The process learns the logarithm of ranks in place of values, so that how bad the worst are has no influence.
"""

import numpy as np

from runners.replay.incremental_gp import IncrementalGaussianProcess
from runners.replay.simulation import Numbers

FEWEST_KNOWN = 8  # candidates to know before features are asked
RANDOM_SHARE = 0.1  # share of candidates started without asking


class SurrogateSampler:
    """Learns from started candidates and chooses the next; they are rows of `features` [candidates, features]."""

    def __init__(self, features: Numbers, chance: np.random.Generator) -> None:
        self._process = IncrementalGaussianProcess(features)
        self._no_features = features.shape[1] == 0
        self._chance = chance

    def learn(self, candidate: int, forecasts: Numbers) -> None:
        """Take in a candidate that is started; `forecasts` [candidates] are of final values, smaller is better."""
        self._process.learn(candidate, forecasts)

    def next_candidate(self, forecasts: Numbers, next_unstarted: int) -> int:
        """Return a candidate of the pool, or `next_unstarted`, the next at random, where too little is known."""
        known = self._process.known
        if len(known) < FEWEST_KNOWN or self._no_features or self._chance.random() < RANDOM_SHARE:
            return next_unstarted
        ranks = forecasts[known].argsort(kind="stable").argsort()
        return int(self._process.pool[np.argmin(self._process.expect(np.log(ranks + 2.0)))])
