"""Shapley values of changes: each one's share over all orders of adding them, or over random ones.

The value of a set of changes is the metric of the arm that has these changes and no others. The sets are those of a
two-level full factorial, or of a design's random orders, whose spread is then in the intervals. The values add up to
the difference between the arm with all changes and the baseline (`analysis/shapley.py`), the last row of each metric.
No shares are given where the interval of that difference contains 0: near 0 they grow without bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reports.number_format import percent
from reports.section import METRIC, Content, Section, delta, known
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.contrasts import Weights
from reports.statistics.crossed import LARGEST, arms_by_components, crossed_arms
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Column, Row, Table, compared, shown, words
from steeplechase.analysis.difference import Difference
from steeplechase.analysis.effects import interval_of
from steeplechase.analysis.shapley import ShapleyWeights, all_orders, over_orders
from steeplechase.configuration.designs import Coalitions

WHOLE = "all changes together"
"""The difference between the arm with all changes and the one with none."""


@dataclass(frozen=True)
class CoalitionArms:
    """The arm of every set of components, and the weight of each set in every component's Shapley value."""

    weights: ShapleyWeights
    arms: tuple[str, ...]
    """In the order of the weights' sets."""

    @property
    def orders(self) -> int | None:
        """Number of random orders that the values are averaged over; None for all orders."""
        return None if self.weights.by_order is None else len(self.weights.by_order)

    @property
    def whole(self) -> Weights:
        """The difference between the arm with all components and the one with none."""
        sizes = [len(each) for each in self.weights.coalitions]
        return {self.arms[sizes.index(max(sizes))]: 1.0, self.arms[sizes.index(0)]: -1.0}


def coalition_arms(results: Results) -> CoalitionArms | None:
    """Return the sets of a two-level full factorial, else those along a design's random orders; None without."""
    return _of_factorial(results) or _of_orders(results)


def _of_factorial(results: Results) -> CoalitionArms | None:
    crossed = crossed_arms(results)
    if crossed is None or crossed.design.missing:
        return None
    if not (crossed.design.two_level and crossed.design.full) or len(crossed.design.factors) > LARGEST:
        return None
    names = [levels[1] for levels in crossed.design.level_names]
    arms = {
        frozenset(name for name, level in zip(names, run, strict=True) if level): arm
        for run, arm in crossed.arms.items()
    }
    weights = all_orders(names)
    return CoalitionArms(weights, tuple(arms[each] for each in weights.coalitions))


def _of_orders(results: Results) -> CoalitionArms | None:
    for design in results.experiment.designs:
        if isinstance(design, Coalitions) and design.orders is not None:
            weights = design.weights
            arms = arms_by_components(results, design, weights.coalitions)
            if len(arms) == len(weights.coalitions):
                return CoalitionArms(weights, tuple(arm.name for arm in arms.values()))
    return None


def _rows(results: Results, coalitions: CoalitionArms) -> Iterator[Row]:
    """Yield what every change contributes to every metric, and the difference that these add up to."""
    for metric in results.metrics:
        whole = results.contrast(coalitions.whole, metric)
        values = zip(coalitions.weights.components, _values(results, coalitions, metric), strict=True)
        for name, difference in [*values, (WHOLE, whole)]:
            named: Row = {"factor": name, "metric": metric.name}
            yield {**named, **compared(difference), "share": _share(difference, whole)}


def _values(results: Results, coalitions: CoalitionArms, metric: Metric) -> list[Difference]:
    """Return the value of every component; the error of random orders is added to that of the seeds and examples."""
    by_component = [zip(coalitions.arms, row, strict=True) for row in coalitions.weights.weights.tolist()]
    weights = [{arm: weight for arm, weight in row if weight} for row in by_component]
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


def _share(value: Difference, whole: Difference) -> float | None:
    """Return the share of the whole; None where the whole's interval contains 0 or is unknown."""
    known = value.delta is not None and whole.delta is not None and whole.excludes_zero
    return (value.delta or 0.0) / (whole.delta or 1.0) if known else None


def shapley_table(results: Results) -> Table:
    """Return the Shapley value of every change on every metric; without rows where sets of changes are no arms."""
    coalitions = results.once(coalition_arms)
    return Table.of("shapley", () if coalitions is None else _rows(results, coalitions))


def _notes(results: Results, orders: int | None, rows: Sequence[Row]) -> Iterator[str]:
    test = TEST_NAMES[results.test]
    test += "" if orders is None else ", the spread between the random orders added"
    yield (
        f"The values of a metric add up to {WHOLE}: the arm with all of them minus the one with none. A share is "
        f"negative where a change works against that. Own 95% intervals by {test}, without "
        "correction."
    )
    without = [Metric(str(row["metric"])).title for row in rows if row["factor"] == WHOLE and row["share"] is None]
    if without:
        why = "the interval of all changes together contains 0 or is unknown, so that the denominator may be 0"
        yield f"No shares on {', '.join(without)}: {why}."


def _content(results: Results) -> Content:
    coalitions, shares = results.once(coalition_arms), shapley_table(results)
    if coalitions is None:
        return Content()
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    rows = [row for row in shares.rows if row["metric"] in decimals and row["n"]]
    orders = "all" if coalitions.orders is None else f"{coalitions.orders} random"
    title = f"Shapley values: what each change contributes, averaged over {orders} orders of adding them"
    columns = [
        words("factor"),
        METRIC,
        delta(decimals),
        Column("share of the whole", read=lambda row: known(row["share"], percent)),
    ]
    return Content(shares.filled, shown("shapley", title, columns, rows, _notes(results, coalitions.orders, rows)))


SECTION = Section("shapley", _content, lambda results: not results.is_search)
