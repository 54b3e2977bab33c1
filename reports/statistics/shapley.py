"""Shapley values of changes: each one's share over all orders of adding them, or over random ones.

The value of a set of changes is the metric of the arm that has these changes and no others. The sets are those of a
two-level full factorial, or of a design's random orders, whose spread is then in the intervals. The values add up to
the difference between the arm with all changes and the baseline (`analysis/shapley.py`). No shares are given where
the interval of that difference contains 0: near 0 they grow without bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.coalitions import CoalitionArms, coalition_arms
from reports.statistics.contrasts import Weights
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, interval
from steeplechase.analysis.difference import Difference
from steeplechase.analysis.effects import interval_of
from steeplechase.analysis.shapley import over_orders

COLUMNS = "factor metric n delta low high share"
WHOLE = "all changes together"
"""The difference between the arm with all changes and the one with none."""


@dataclass(frozen=True)
class Contribution:
    """What one change contributes to one metric."""

    factor: str
    metric: Metric
    difference: Difference
    share: float | None
    """Of the difference that all changes make together; None where that may be 0."""

    @property
    def row(self) -> Row:
        """The contribution as a row of a table."""
        named: Row = {"factor": self.factor, "metric": self.metric.name, "n": self.difference.n}
        return {**named, **interval(self.difference), "share": self.share}


@dataclass(frozen=True)
class ShapleyValues:
    """The contributions on every metric, each metric's sum last."""

    rows: tuple[Contribution, ...]
    orders: int | None
    """Number of random orders that they are averaged over; None for all orders."""


def shapley_values_of(results: Results) -> ShapleyValues | None:
    """Return the Shapley value of every change on every metric; None where sets of changes are no arms."""
    coalitions = None if results.is_search else coalition_arms(results)
    return None if coalitions is None else ShapleyValues(tuple(_rows(results, coalitions)), coalitions.orders)


def _rows(results: Results, coalitions: CoalitionArms) -> Iterator[Contribution]:
    for metric in results.metrics:
        whole = results.contrast(coalitions.whole, metric)
        values = zip(coalitions.weights.components, _values(results, coalitions, metric), strict=True)
        for name, difference in [*values, (WHOLE, whole)]:
            yield Contribution(name, metric, difference, _share(difference, whole))


def _values(results: Results, coalitions: CoalitionArms, metric: Metric) -> list[Difference]:
    """Return the value of every component; the error of random orders is added to that of the seeds and examples."""
    weights = [_by_arm(coalitions, row) for row in coalitions.weights.weights.tolist()]
    found = [results.contrast(each, metric) for each in weights]
    if coalitions.weights.by_order is None or any(each.low is None for each in found):
        return found
    means = np.array([results.effect(arm, metric).mean for arm in coalitions.arms], dtype=np.float64)
    by_order = coalitions.weights.by_order @ means
    confidence = max(map(results.confidence, coalitions.arms))
    estimates = [
        over_orders(results.contrasts.estimate(each, metric.name), by_order[:, [place]])
        for place, each in enumerate(weights)
    ]
    return [interval_of(value, each.n, confidence) for value, each in zip(estimates, found, strict=True)]


def _by_arm(coalitions: CoalitionArms, row: Sequence[float]) -> Weights:
    return {arm: weight for arm, weight in zip(coalitions.arms, row, strict=True) if weight}


def _share(value: Difference, whole: Difference) -> float | None:
    """Return the share of the whole; None where the whole's interval contains 0 or is unknown."""
    if value.delta is None or whole.delta is None or not whole.excludes_zero:
        return None
    return value.delta / whole.delta
