"""Proposals from configurations: a random regression tree on a bootstrap sample, grown along one path only.

The path follows the best observation of the sample to a box of configurations, from which a candidate is drawn. The
splits are those of extremely randomised trees (Geurts et al. 2006): a uniform threshold per feature, the best kept. A
new tree per proposal draws from the uncertainty of the tree, as the bootstrap draws from that of the data. The other
branches of a tree would not be used, so none is grown, and a proposal takes a fraction of a millisecond.
"""

import numpy as np
from numpy.typing import NDArray

from runners.policies.policy import Numbers

Indices = NDArray[np.int64]


LARGEST_SAMPLE = 1000  # observations in the bootstrap sample, so that a proposal takes milliseconds


def propose(features: Numbers, seen: Indices, values: Numbers, free: Indices, generator: np.random.Generator) -> int:
    """Return one of the `free` candidates, which are rows of `features` [candidates, features].

    The candidates `seen` [n] have `values` [n], of which smaller are better. The tree learns the logarithm of ranks,
    so that differences among the best count and those among the worst do not.
    """
    targets = np.log1p(values.argsort(kind="stable").argsort())
    sample = generator.integers(len(values), size=min(len(values), LARGEST_SAMPLE))
    x, y = features[seen[sample]], targets[sample]
    best = x[int(np.argmin(y))]
    while len(free) > 1 and len(y) > 1 and np.ptp(y) > 0:
        low, high = x.min(axis=0), x.max(axis=0)
        axes = np.flatnonzero(high > low)
        if not len(axes):
            break
        thresholds = low[axes] + (high - low)[axes] * generator.random(len(axes))
        below = x[:, axes] <= thresholds
        chosen = _best_split(below, y)
        axis, threshold = axes[chosen], thresholds[chosen]
        side = bool(best[axis] <= threshold)
        inside = free[(features[free, axis] <= threshold) == side]
        if not len(inside):
            break
        kept = below[:, chosen] == side
        x, y, free = x[kept], y[kept], inside
    return int(free[generator.integers(len(free))])


def _best_split(below: NDArray[np.bool_], y: Numbers) -> int:
    """Return the split [n, splits] with the least squared error of the means of its two sides."""
    count, total = below.sum(axis=0), y @ below
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = total**2 / count + (y.sum() - total) ** 2 / (len(y) - count)
    return int(np.argmax(np.where((count > 0) & (count < len(y)), explained, -np.inf)))
