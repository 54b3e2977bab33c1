"""A Gaussian process with incremental updates: one more observation costs one row of the inverse Cholesky factor.

The covariance between the pool of unstarted candidates and the observed ones is kept too, so that a decision costs
some products of a matrix and a vector, however long the study is. At `CAPACITY` candidates it forgets all but the
best and the latest.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import NOISE, Covariance, kernel

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

CAPACITY = 240  # observed candidates at most
KEPT_WHEN_FULL = 144  # of these when it is full: half the best, half the latest
POOL_SIZE = 400  # unstarted candidates that are compared


class IncrementalGaussianProcess:
    """Observes candidates by their row of `features` [candidates, features]; the pool is the next unstarted ones."""

    def __init__(self, features: Numbers, covariance: Covariance = kernel, noise: float = NOISE) -> None:
        self._features, self._covariance, self._noise = features, covariance, noise
        self._next = min(POOL_SIZE, len(features))
        self._pool = np.arange(self._next)
        self._known = np.zeros(0, dtype=np.int64)
        self._across = np.zeros((len(self._pool), CAPACITY))
        self._among = np.zeros((CAPACITY, CAPACITY))
        self._whitening = np.zeros((CAPACITY, CAPACITY))

    @property
    def pool(self) -> Places:
        """The candidates that may be proposed, as places in the features."""
        return self._pool

    @property
    def known(self) -> Places:
        """The candidates learnt from, oldest first."""
        return self._known

    def learn(self, candidate: int, forecasts: Numbers) -> None:
        """Take one more candidate in, out of the pool; `forecasts` [candidates] are smaller for better ones."""
        if len(self._known) == CAPACITY:
            self._forget(forecasts)
        self._leave_pool(candidate)
        size, row = len(self._known), self._features[candidate : candidate + 1]
        to_known = self._covariance(row, self._features[self._known])[0]
        own = float(self._covariance(row, row)[0, 0]) + self._noise
        self._among[size, :size] = self._among[:size, size] = to_known
        self._among[size, size] = own
        solved = self._whitening[:size, :size] @ to_known
        pivot = 1.0 / np.sqrt(max(own - float(solved @ solved), 1e-9))
        self._whitening[size, :size] = -pivot * (solved @ self._whitening[:size, :size])
        self._whitening[size, size] = pivot
        self._across[: len(self._pool), size] = self._covariance(self._features[self._pool], row)[:, 0]
        self._known = np.append(self._known, candidate)

    def expect(self, targets: Numbers) -> Numbers:
        """Return the mean of each of the pool, given the targets of the known in their order."""
        size = len(self._known)
        centre, amplitude = float(targets.mean()), float(targets.std()) or 1.0
        whitening = self._whitening[:size, :size]
        weights = whitening.T @ (whitening @ ((targets - centre) / amplitude))
        return np.asarray(centre + amplitude * (self._across[: len(self._pool), :size] @ weights))

    def _leave_pool(self, candidate: int) -> None:
        """Put the next unstarted candidate in the place of one that has been started, or close the gap."""
        found = np.flatnonzero(self._pool == candidate)
        if not len(found):
            return
        place, size = int(found[0]), len(self._known)
        if self._next < len(self._features):
            self._pool[place] = self._next
            row = self._features[self._next : self._next + 1]
            self._across[place, :size] = self._covariance(row, self._features[self._known])[0]
            self._next += 1
        else:
            self._across = np.delete(self._across, place, axis=0)
            self._pool = np.delete(self._pool, place)

    def _forget(self, forecasts: Numbers) -> None:
        order = forecasts[self._known].argsort(kind="stable")
        kept = np.union1d(order[: KEPT_WHEN_FULL // 2], np.arange(CAPACITY - KEPT_WHEN_FULL // 2, CAPACITY))
        size = len(kept)
        self._known = self._known[kept]
        self._across[:, :size] = self._across[:, kept]
        self._among[:size, :size] = self._among[np.ix_(kept, kept)]
        self._whitening[:size, :size] = np.linalg.inv(np.linalg.cholesky(self._among[:size, :size]))
