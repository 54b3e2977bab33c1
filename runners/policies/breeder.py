"""The breeder of recorded curves: only candidates that were recorded can be born.

`run` breeds candidates of a search space (`runners/search/breeding.py`).
"""

import numpy as np

from runners.policies.policy import Numbers


class RecordedBreeder:
    """Breeds among recorded candidates: a mutant is drawn as if every child that was not recorded were redrawn.

    A gene is a feature. A child at k differing features of n has the weight rate^k (1 - rate)^(n - k), which is exact
    for genes of two values.
    """

    def __init__(self, features: Numbers) -> None:
        self._features = features

    def drawn(self, generator: np.random.Generator) -> int | None:
        """Return a uniformly drawn candidate."""
        return int(generator.integers(len(self._features))) if len(self._features) else None

    def mutant(self, parent: int | None, rate: float, generator: np.random.Generator) -> int | None:
        """Return a recorded mutant; recorded curves do not say which candidate was declared, so that it is drawn."""
        if parent is None or not self._features.shape[1]:
            return self.drawn(generator)
        differing = (self._features != self._features[parent]).sum(axis=1)
        others = np.flatnonzero(np.arange(len(self._features)) != parent)
        if not len(others):
            return None
        odds = differing[others] * (np.log(rate) - np.log1p(-min(rate, 1 - 1e-9)))
        weights = np.exp(odds - odds.max())
        return int(generator.choice(others, p=weights / weights.sum()))
