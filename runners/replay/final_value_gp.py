"""A Gaussian process over final values, which chooses the next full training if first values are mistrusted.

Its features are the rank of the first value and, with equal weight, the configuration; it is fitted to full trainings
only and chooses by a lower confidence bound. It can learn that bad first values end well; if nothing predicts the
final value, its choice is as good as a random one.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import GaussianProcess, kernel
from runners.replay.simulation import Numbers

Indices = NDArray[np.int64]

FIRST_VALUE_LENGTH_SCALE = 0.4  # of the ranks of first values, in [0, 1]
NOISE_VARIANCE = 0.1  # of final values scaled to the variance 1
EXPLORATION = 0.5  # standard deviations below the mean
HISTORY, SHORTLIST = 100, 200  # latest trainings fitted and latest candidates compared: a decision takes milliseconds


def choose(
    finished: Indices, final_values: Numbers, paused: Indices, first_values: Numbers, features: Numbers
) -> int:
    """Return one of `paused`, given the finished candidates; `first_values` and `features` are of all candidates."""
    finished, final_values, paused = finished[-HISTORY:], final_values[-HISTORY:], paused[-SHORTLIST:]
    both = np.concatenate([finished, paused])
    ranks = first_values[both].argsort(kind="stable").argsort() / max(len(both) - 1, 1)
    table = np.column_stack([ranks, features[both]])
    known = len(finished)
    process = GaussianProcess.fitted(table[:known], final_values, NOISE_VARIANCE, _covariance)
    mean, sd = process.predict(table[known:])
    return int(paused[np.argmin(mean - EXPLORATION * sd)])


def _covariance(left: Numbers, right: Numbers) -> Numbers:
    of_ranks = np.exp(-0.5 * ((left[:, 0, None] - right[None, :, 0]) / FIRST_VALUE_LENGTH_SCALE) ** 2)
    return of_ranks if left.shape[1] == 1 else np.asarray(0.5 * of_ranks + 0.5 * kernel(left[:, 1:], right[:, 1:]))
