"""Whom to train to the end where beginnings do not tell: what ends have shown of first looks and configurations.

A Gaussian process over the rank of the first look and, in equal part, the configuration, fitted to whole trainings
alone, with some credit for doubt. Where worse beginnings end better it learns that; where nothing tells, its choice
is as good as one at random.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import GaussianProcess, kernel
from runners.replay.simulation import Numbers

Places = NDArray[np.int64]

LENGTH = 0.4  # of the ranks of first looks
SURE = 0.1  # variance that neither tells
CREDIT = 0.5  # standard deviations
HISTORY, SHORTLIST = 100, 200  # latest ends learnt from and latest candidates compared: a decision takes milliseconds


def choose(finished: Places, ends: Numbers, opened: Places, looks: Numbers, features: Numbers) -> int:
    """Return one of `opened`, given the `ends` of the finished; looks [candidates], features of all."""
    finished, ends, opened = finished[-HISTORY:], ends[-HISTORY:], opened[-SHORTLIST:]
    both = np.concatenate([finished, opened])
    ranks = looks[both].argsort(kind="stable").argsort() / max(len(both) - 1, 1)
    table = np.column_stack([ranks, features[both]])
    known = len(finished)
    process = GaussianProcess.fitted(table[:known], ends, SURE, _covariance)
    mean, sd = process.predict(table[known:])
    return int(opened[np.argmin(mean - CREDIT * sd)])


def _covariance(one: Numbers, other: Numbers) -> Numbers:
    by_look = np.exp(-0.5 * ((one[:, 0, None] - other[None, :, 0]) / LENGTH) ** 2)
    return by_look if one.shape[1] == 1 else np.asarray(0.5 * by_look + 0.5 * kernel(one[:, 1:], other[:, 1:]))
