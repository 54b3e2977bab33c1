"""Configurations of any structure as numeric features in [0, 1], for surrogate models.

A number is one column, a string one column per value. A list of parts (the layers of an encoder) becomes its length
and, over the parts, the sum of every number and the count of every string: a histogram of parts, which is what
architecture kernels compare first (Ru et al. 2021, arXiv 2006.07556, the Weisfeiler-Lehman kernel at depth 0), and
which tells the size of the whole. Columns are rank-transformed, so that learning rates and layer counts have the same
scale; constant columns are dropped. The c columns of one axis span [0, 1/sqrt(c)], so that a choice of ten labels
counts as much as a number in sums of squared differences.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.schema import JsonValue

Numbers = NDArray[np.float64]


def features_of(configs: Sequence[Mapping[str, JsonValue]]) -> Numbers:
    """Return [candidates, features] in [0, 1]; 0 where a configuration lacks the feature."""
    rows = [dict(_leaves(config, "")) for config in configs]
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, 0.0) for name in names] for row in rows], dtype=np.float64)
    table = table.reshape(len(rows), len(names))
    distinct: dict[bytes, tuple[str, Numbers]] = {}  # columns with equal ranks are redundant
    for name, column in zip(names, table.T, strict=True):
        if np.ptp(column) > 0:
            ranks = _spread(column)
            distinct.setdefault(ranks.tobytes(), (name.partition("=")[0], ranks))
    columns = Counter(axis for axis, _ in distinct.values())
    scaled = [ranks / np.sqrt(columns[axis]) for axis, ranks in distinct.values()]
    return np.array(scaled).T.reshape(len(rows), len(scaled))


def _spread(column: Numbers) -> Numbers:
    """Return ranks in [0, 1]; equal values share the mean of their ranks."""
    _, group, counts = np.unique(column, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    middle = before + (counts - 1) / 2
    return np.asarray((middle - middle[0]) / (middle[-1] - middle[0]))[group]


def _leaves(value: JsonValue | Mapping[str, JsonValue], path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool):
        yield path, float(value)
    elif isinstance(value, int | float):
        yield path, float(value) if np.isfinite(value) else 0.0
    elif isinstance(value, str):
        yield f"{path}={value}", 1.0
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(value, list):
        yield from _parts(value, path)


def _parts(parts: Sequence[JsonValue], path: str) -> Iterator[tuple[str, float]]:
    """Yield the features of a list: its length, and sums over its parts."""
    yield f"{path}.length", float(len(parts))
    totals = dict[str, float]()
    for part in parts:
        for name, number in _leaves(part, f"{path}[]"):
            totals[name] = totals.get(name, 0.0) + number
    yield from totals.items()
