"""The median with its percentile bootstrap interval (Efron 1979, section 2), for repeated timings.

scipy is the oracle in the tests, but slower to import than the report takes. Values are sorted and the draws are
fixed, so that the interval is independent of the order of the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steeplechase.analysis.difference import CONFIDENCE
from steeplechase.analysis.shapes import Float, Int
from steeplechase.foundation.randomness import stream

RESAMPLES = 4000
TAIL = (1 - CONFIDENCE) / 2


@dataclass(frozen=True)
class Estimate:
    """A median over `n` values with its interval; the bounds are None for a single value."""

    n: int
    value: float
    low: float | None
    high: float | None

    @property
    def inverse(self) -> "Estimate":
        """The estimate of the inverse ratio, 1 / value."""
        low, high = (None if bound is None else 1 / bound for bound in (self.high, self.low))
        return Estimate(self.n, 1 / self.value, low, high)

    def beyond(self, factor: float) -> int:
        """Return 1 if the interval is above a factor, -1 if below 1 / factor, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > factor) - int(self.high < 1 / factor)


def median(values: Sequence[float]) -> Estimate:
    """Return the median of the values. Raises ValueError for no values, or one that is not finite."""
    ordered = _ordered(values)
    if len(ordered) == 1:
        return Estimate(1, float(ordered[0]), None, None)
    return _estimate(len(ordered), float(np.median(ordered)), _medians(ordered, "first"))


def median_ratio(values: Sequence[float], others: Sequence[float]) -> Estimate:
    """Return the ratio of two independent samples' medians; `n` is the smaller sample's size."""
    first, second = _ordered(values), _ordered(others)
    n, ratio = min(len(first), len(second)), float(np.median(first) / np.median(second))
    if n == 1:
        return Estimate(1, ratio, None, None)
    return _estimate(n, ratio, _medians(first, "first") / _medians(second, "second"))


def _estimate(n: int, value: float, resampled: Float[np.ndarray, "resamples"]) -> Estimate:  # noqa: F821
    low, high = np.quantile(resampled, (TAIL, 1 - TAIL))
    return Estimate(n, value, float(low), float(high))


def _ordered(values: Sequence[float]) -> Float[np.ndarray, "n"]:  # noqa: F821
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not len(ordered) or not np.isfinite(ordered).all():
        raise ValueError("a median needs values, and every one of them finite")
    return ordered


def _medians(ordered: Float[np.ndarray, "n"], sample: str) -> Float[np.ndarray, "resamples"]:  # noqa: F821
    return np.asarray(np.median(ordered[_draws(len(ordered), sample)], axis=1))


@lru_cache(maxsize=8)
def _draws(n: int, sample: str) -> Int[np.ndarray, "resamples n"]:
    return stream(0, f"bootstrap {sample}").integers(n, size=(RESAMPLES, n))
