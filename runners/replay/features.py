"""Configurations of any structure as columns of labels and numbers, for proposals among recorded candidates.

A list of parts (the layers of an encoder) becomes its length and, over the parts, the sum of every number and the
count of every label: a histogram of parts, which is what architecture kernels compare first (Ru et al. 2021, arXiv
2006.07556, the Weisfeiler-Lehman kernel at depth 0). Numbers are rank-transformed, so that learning rates and layer
counts have the same scale; constant columns and those with the ranks of another one are dropped.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.schema import JsonValue

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Features:
    """The columns of recorded configurations."""

    labels: tuple[tuple[str, ...] | None, ...]
    """Of each column the labels, None of numbers [columns]."""
    values: Numbers
    """Numbers of labels, or ranks in [0, 1] [candidates, columns]."""

    def of(self, candidates: NDArray[np.int64]) -> "Features":
        """Return the features of some candidates, in their order."""
        return Features(self.labels, self.values[candidates])

    @cached_property
    def _is_label(self) -> NDArray[np.bool_]:
        return np.array([labels is not None for labels in self.labels], dtype=np.bool_)

    def distances(self, point: Sequence[float], candidates: NDArray[np.int64]) -> Numbers:
        """Return the distances of candidates to a point: of numbers their difference, of two labels 1."""
        apart = np.abs(self.values[candidates] - np.asarray(point))
        return np.asarray(np.where(self._is_label, apart > 0, apart).sum(axis=1))


def features_of(configs: Sequence[Mapping[str, JsonValue]]) -> Features:
    """Return the columns of configurations; one that lacks a column has the label "" or the number 0 in it."""
    rows = [dict(_leaves(config, "")) for config in configs]
    labels: list[tuple[str, ...] | None] = []
    distinct: dict[bytes, Numbers] = {}
    for name in sorted({name for row in rows for name in row}):
        found = [row.get(name) for row in rows]
        texts = any(isinstance(value, str) for value in found)
        known = tuple(sorted({_text(value) for value in found})) if texts else None
        places = {label: place for place, label in enumerate(known or ())}
        column = np.array(
            [places[_text(value)] if texts else float(value or 0.0) for value in found], dtype=np.float64
        )
        if np.ptp(column) > 0:
            column = column if texts else _ranks(column)
            if column.tobytes() not in distinct:
                distinct[column.tobytes()] = column
                labels.append(known)
    return Features(tuple(labels), np.array([*distinct.values()]).T.reshape(len(rows), len(labels)))


def _text(value: str | float | None) -> str:
    return "" if value is None else str(value)


def _ranks(column: Numbers) -> Numbers:
    """Return ranks in [0, 1]; equal values share the mean of their ranks."""
    _, group, counts = np.unique(column, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    middle = before + (counts - 1) / 2
    return np.asarray((middle - middle[0]) / (middle[-1] - middle[0]))[group]


def _leaves(value: JsonValue | Mapping[str, JsonValue], path: str) -> Iterator[tuple[str, str | float]]:
    if isinstance(value, bool | int | float):
        yield path, float(value) if np.isfinite(value) else 0.0
    elif isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(value, list):
        yield f"{path}.length", float(len(value))
        totals = dict[str, float]()
        for part in value:
            for name, found in _leaves(part, f"{path}[]"):
                key, number = (f"{name}={found}", 1.0) if isinstance(found, str) else (name, found)
                totals[key] = totals.get(key, 0.0) + number
        yield from totals.items()
