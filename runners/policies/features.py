"""Configurations of any structure as numeric features in [0, 1], for surrogate models.

A number is one column, a string one column per value. A list of parts (the layers of an encoder) becomes its length
and, over the parts, the mean of every number, the share of every string, and the sum of every product of two numbers,
since costs of layers are products (width times depth). Columns are rank-transformed, so that learning rates and layer
counts have the same scale; constant columns are dropped.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from foundation.schema import JsonValue

Numbers = NDArray[np.float64]


def features_of(configs: Sequence[Mapping[str, JsonValue]]) -> Numbers:
    """Return [candidates, features] in [0, 1]; 0 where a configuration lacks the feature."""
    rows = [dict(_leaves(config, "")) for config in configs]
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, 0.0) for name in names] for row in rows], dtype=np.float64)
    table = table.reshape(len(rows), len(names))
    ranked = [_spread(column) for column in table.T if np.ptp(column) > 0]
    distinct = {column.tobytes(): column for column in ranked}  # columns with equal ranks are redundant
    return np.array(list(distinct.values())).T.reshape(len(rows), len(distinct))


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
    """Yield the features of a list: its aggregates, and the strings of its first and last part."""
    yield f"{path}.length", float(len(parts))
    rows = [dict(_leaves(part, "")) for part in parts]
    names = sorted({name for row in rows for name in row})
    for name in names:
        column = [row.get(name, 0.0) for row in rows]
        yield f"{path}[]{name}", float(np.mean(column))
        if "=" in name:
            yield f"{path}[first]{name}", column[0]
            yield f"{path}[last]{name}", column[-1]
    numeric = [name for name in names if "=" not in name]
    for left, right in combinations(numeric, 2):
        yield f"{path}[]{left}*{right}", float(sum(row.get(left, 0.0) * row.get(right, 0.0) for row in rows))
    for name in numeric:
        yield f"{path}[]sum{name}", float(sum(row.get(name, 0.0) for row in rows))
