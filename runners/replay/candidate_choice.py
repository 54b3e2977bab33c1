"""Which candidate to start next: whom a Gaussian process over features expects to rank best, or one at random.

The process learns the logarithm of ranks, not values: it cares who is best and is deaf to how bad the worst are.
"""

import numpy as np

from runners.replay.incremental_gp import GrowingProcess
from runners.replay.simulation import Numbers

FEW = 8  # candidates to know before features are asked
AT_RANDOM = 0.1  # share of candidates started without asking


class Proposer:
    """Learns who was started and names who is next. Candidates are places in `features` [candidates, features]."""

    def __init__(self, features: Numbers, chance: np.random.Generator) -> None:
        self._process = GrowingProcess(features)
        self._blind = features.shape[1] == 0
        self._chance = chance

    def learn(self, candidate: int, promises: Numbers) -> None:
        """Take in a candidate that is started; `promises` [candidates] are of the earlier, smaller is better."""
        self._process.learn(candidate, promises)

    def propose(self, promises: Numbers, fresh: int) -> int:
        """Return a candidate of the pool; `fresh` is the next in the order of drawing, for when nothing is known."""
        known = self._process.known
        if len(known) < FEW or self._blind or self._chance.random() < AT_RANDOM:
            return fresh
        ranks = promises[known].argsort(kind="stable").argsort()
        return int(self._process.pool[np.argmin(self._process.expect(np.log(ranks + 2.0)))])
