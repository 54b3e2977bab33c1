"""A Gaussian process with incremental updates: one more observation costs one row of the inverse Cholesky factor.

The covariance between the pool of unstarted candidates and the observed ones is stored too, so that a decision costs
a few matrix-vector products, independent of the length of the study. At `CAPACITY` candidates, all but the best and
the latest are dropped.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import NOISE, Covariance, kernel

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

CAPACITY = 240  # observed candidates at most
KEPT_WHEN_FULL = 144  # of these when it is full: half the best, half the latest
POOL_SIZE = 400  # unstarted candidates that are compared


class IncrementalGaussianProcess:
    """Observes candidates by their row of `features` [candidates, features]; the pool is the next unstarted ones."""

    def __init__(self, features: Numbers, covariance: Covariance = kernel, noise: float = NOISE) -> None:
        self._features, self._covariance, self._noise = features, covariance, noise
        self._next = min(POOL_SIZE, len(features))
        self._pool = np.arange(self._next)
        self._observed = np.zeros(0, dtype=np.int64)
        self._across = np.zeros((len(self._pool), CAPACITY))
        self._among = np.zeros((CAPACITY, CAPACITY))
        self._whitening = np.zeros((CAPACITY, CAPACITY))

    @property
    def pool(self) -> Indices:
        """The candidates that may be proposed, as rows of the features."""
        return self._pool

    @property
    def observed(self) -> Indices:
        """The observed candidates, oldest first."""
        return self._observed

    def learn(self, candidate: int, forecasts: Numbers) -> None:
        """Add an observed candidate and remove it from the pool; `forecasts` [candidates], smaller is better."""
        if len(self._observed) == CAPACITY:
            self._drop_old(forecasts)
        self._replace_in_pool(candidate)
        size, row = len(self._observed), self._features[candidate : candidate + 1]
        to_observed = self._covariance(row, self._features[self._observed])[0]
        own = float(self._covariance(row, row)[0, 0]) + self._noise
        self._among[size, :size] = self._among[:size, size] = to_observed
        self._among[size, size] = own
        solved = self._whitening[:size, :size] @ to_observed
        pivot = 1.0 / np.sqrt(max(own - float(solved @ solved), 1e-9))
        self._whitening[size, :size] = -pivot * (solved @ self._whitening[:size, :size])
        self._whitening[size, size] = pivot
        self._across[: len(self._pool), size] = self._covariance(self._features[self._pool], row)[:, 0]
        self._observed = np.append(self._observed, candidate)

    def expect(self, targets: Numbers) -> Numbers:
        """Return the posterior mean of the pool, given the targets of the observed candidates in their order."""
        size = len(self._observed)
        centre, amplitude = float(targets.mean()), float(targets.std()) or 1.0
        whitening = self._whitening[:size, :size]
        weights = whitening.T @ (whitening @ ((targets - centre) / amplitude))
        return np.asarray(centre + amplitude * (self._across[: len(self._pool), :size] @ weights))

    def _replace_in_pool(self, candidate: int) -> None:
        """Replace a started candidate in the pool by the next unstarted one, or remove it."""
        matches = np.flatnonzero(self._pool == candidate)
        if not len(matches):
            return
        row_number, size = int(matches[0]), len(self._observed)
        if self._next < len(self._features):
            self._pool[row_number] = self._next
            row = self._features[self._next : self._next + 1]
            self._across[row_number, :size] = self._covariance(row, self._features[self._observed])[0]
            self._next += 1
        else:
            self._across = np.delete(self._across, row_number, axis=0)
            self._pool = np.delete(self._pool, row_number)

    def _drop_old(self, forecasts: Numbers) -> None:
        order = forecasts[self._observed].argsort(kind="stable")
        kept = np.union1d(order[: KEPT_WHEN_FULL // 2], np.arange(CAPACITY - KEPT_WHEN_FULL // 2, CAPACITY))
        size = len(kept)
        self._observed = self._observed[kept]
        self._across[:, :size] = self._across[:, kept]
        self._among[:size, :size] = self._among[np.ix_(kept, kept)]
        self._whitening[:size, :size] = np.linalg.inv(np.linalg.cholesky(self._among[:size, :size]))
