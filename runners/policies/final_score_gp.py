"""Bayesian optimisation of final scores: full trainings, chosen by a Gaussian process over configurations.

For final scores without curves, such as NAS-Bench-BERT. The process is refitted after every training; the candidate
with the lowest confidence bound trains next (Srinivas et al. 2010, arXiv 0912.3995, with a fixed width). Length scale
and width were chosen by searches of NAS-Bench-BERT, as docs/replay.md reports. Every axis of a space has the same
variance, however many columns it has.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from runners.policies.policy import Action, Numbers, View
from steeplechase.analysis.gaussian_process import GaussianProcess, smooth

RANDOM_FIRST = 3  # trainings before the first fit
LENGTH = 2.0  # times the length scale of `smooth`
EXPLORATION = 1.0  # standard deviations below the mean
HISTORY = 128  # trainings in the fit, half the best and half the latest: a decision takes milliseconds
POOL, SHORTLIST = 1000, 200  # unstarted candidates compared, and those with the best means, whose bounds are computed


class FinalScoreProcess:
    """Implements Policy: one full training after the other; a candidate in training is not yet an observation."""

    def __init__(
        self, view: View, generator: np.random.Generator, length: float = LENGTH, exploration: float = EXPLORATION
    ) -> None:
        self._view, self._features = view, _weighted(view.features)
        self._covariance, self._exploration = partial(smooth, length=length), exploration
        self._trained, self._unstarted = np.zeros(0, dtype=np.int64), np.arange(len(view.reached))

    def next_action(self) -> Action | None:
        """Return the full training of the candidate with the best bound, None after the last candidate."""
        if not len(self._unstarted):
            return None
        few = len(self._trained) < RANDOM_FIRST
        pool = self._unstarted[:POOL]
        candidate = int(pool[0]) if few else self._best(pool)
        self._unstarted = self._unstarted[self._unstarted != candidate]
        return Action(candidate, len(self._view.costs))

    def observe(self, candidate: int) -> None:
        """Add a trained candidate."""
        self._trained = np.append(self._trained, candidate)

    def _best(self, pool: NDArray[np.int64]) -> int:
        view, trained = self._view, self._trained
        final = view.observed[trained, np.maximum(view.reached[trained] - 1, 0)]
        finite = np.isfinite(final)
        if not finite.any() or not self._features.shape[1]:
            return int(pool[0])
        targets = np.where(finite, final, final[finite].max())  # a diverged candidate counts as the worst
        rows = _history_rows(targets)
        measured = self._features[trained[rows]]
        process = GaussianProcess.fitted(measured, targets[rows], covariance=self._covariance)
        means = process.expect(self._features[pool])
        shortlist = pool[np.argsort(means, kind="stable")[:SHORTLIST]]
        mean, sd = process.predict(self._features[shortlist])
        return int(shortlist[np.argmin(mean - self._exploration * sd)])


def _weighted(features: Numbers) -> Numbers:
    """Return z-scores times the range of their column, which is 1/sqrt(columns of its axis); 1 on average."""
    spread, ranges = features.std(axis=0), np.ptp(features, axis=0)
    weights = ranges * np.sqrt(len(ranges) / max((ranges**2).sum(), 1.0))
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0) * weights)


def _history_rows(targets: Numbers) -> NDArray[np.int64]:
    if len(targets) <= HISTORY:
        return np.arange(len(targets))
    best = np.argsort(targets, kind="stable")[: HISTORY // 2]
    return np.union1d(best, np.arange(len(targets) - HISTORY // 2, len(targets)))
