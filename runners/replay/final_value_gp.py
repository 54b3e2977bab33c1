"""A Gaussian process over final values: which candidate to train to its end where first values are mistrusted.

Its features are the rank of the first value and, in equal part, the configuration; it is fitted to whole trainings
alone and chooses by a lower confidence bound. Where bad first values end well it learns that; where nothing predicts
the final value, its choice is as good as a random one.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import GaussianProcess, kernel
from runners.replay.simulation import Numbers

Places = NDArray[np.int64]

FIRST_VALUE_LENGTH_SCALE = 0.4  # of the ranks of first values, in [0, 1]
NOISE_VARIANCE = 0.1  # of final values scaled to the variance 1
EXPLORATION = 0.5  # standard deviations below the mean
HISTORY, SHORTLIST = 100, 200  # latest trainings fitted and latest candidates compared: a decision takes milliseconds


def choose(finished: Places, final_values: Numbers, paused: Places, first_values: Numbers, features: Numbers) -> int:
    """Return one of `paused`, given the finished with their final values; first values and features are of all."""
    finished, final_values, paused = finished[-HISTORY:], final_values[-HISTORY:], paused[-SHORTLIST:]
    both = np.concatenate([finished, paused])
    ranks = first_values[both].argsort(kind="stable").argsort() / max(len(both) - 1, 1)
    table = np.column_stack([ranks, features[both]])
    known = len(finished)
    process = GaussianProcess.fitted(table[:known], final_values, NOISE_VARIANCE, _covariance)
    mean, sd = process.predict(table[known:])
    return int(paused[np.argmin(mean - EXPLORATION * sd)])


def _covariance(one: Numbers, other: Numbers) -> Numbers:
    by_look = np.exp(-0.5 * ((one[:, 0, None] - other[None, :, 0]) / FIRST_VALUE_LENGTH_SCALE) ** 2)
    return by_look if one.shape[1] == 1 else np.asarray(0.5 * by_look + 0.5 * kernel(one[:, 1:], other[:, 1:]))
