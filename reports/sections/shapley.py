"""Shapley values of changes: each one's share over all orders of adding them, or over random ones.

The value of a set of changes is the metric of the arm that has these changes and no others. The sets are those of a
two-level full factorial, or of a design's random orders, whose spread is then in the intervals. The shares add up to
the difference between the arm with all changes and the baseline (`analysis/shapley.py`), the last row of each metric.
No shares are given where the interval of that difference contains 0: near 0 they grow without bound.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.difference import Difference
from analysis.effects import interval_of
from analysis.shapley import over_orders
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING
from reports.section import Content, Section, with_rows
from reports.sections.difference_cells import difference_cell
from reports.statistics.coalitions import CoalitionArms, coalition_arms
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.contrasts import Weights
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, number, table

WHOLE = "all changes together"
"""Row of the difference between the arm with all changes and the one with none."""


def shapley_table(results: Results, coalitions: CoalitionArms) -> Table:
    """Return the Shapley value of every change on every metric, and the difference that these add up to."""
    return table("shapley", "factor metric n delta low high share", _rows(results, coalitions))


def _rows(results: Results, coalitions: CoalitionArms) -> Iterator[Row]:
    for metric in results.metrics:
        whole = results.contrast(coalitions.whole, metric)
        values = zip(coalitions.weights.components, _values(results, coalitions, metric), strict=True)
        for name, difference in [*values, (WHOLE, whole)]:
            row: Row = {"factor": name, "metric": metric.name, "n": difference.n, **interval(difference)}
            yield {**row, "share": _share(difference, whole)}


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


def shapley_grid(results: Results, coalitions: CoalitionArms, shares: Table) -> Iterator[Grid]:
    """Yield the values on the headline metrics."""
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    rows = [row for row in shares.rows if row["metric"] in decimals and row["n"]]
    columns = [Column("factor", numeric=False), Column("metric", numeric=False), Column("Δ [95%] (n)")]
    columns.append(Column("share of the whole"))
    if rows:
        orders = "all" if coalitions.orders is None else f"{coalitions.orders} random"
        title = f"Shapley values: what each change contributes, averaged over {orders} orders of adding them"
        shown = grid("shapley", title, columns, (_cells(row, decimals[str(row["metric"])]) for row in rows))
        left_out = [str(row["metric"]) for row in rows if row["factor"] == WHOLE and row["share"] is None]
        yield with_notes(shown, [_note(results, coalitions), *_why_no_share(left_out)])


def _cells(row: Row, decimals: int) -> list[str | Cell]:
    share = number(row["share"])
    text = NOTHING if share is None else f"{100 * share:.0f}%".replace("-", "−")
    return [str(row["factor"]), Metric(str(row["metric"])).title, difference_cell(row, decimals), text]


def _note(results: Results, coalitions: CoalitionArms) -> str:
    test = TEST_NAMES[results.test]
    test += "" if coalitions.orders is None else ", the spread between the random orders added"
    return (
        f"The values of a metric add up to {WHOLE}: the arm with all of them minus the one with none. A share is "
        f"negative where a change works against that. Own 95% intervals by {test}, without "
        "correction."
    )


def _why_no_share(metrics: list[str]) -> list[str]:
    names = ", ".join(Metric(name).title for name in metrics)
    why = "the interval of all changes together contains 0 or is unknown, so that the denominator may be 0"
    return [f"No shares on {names}: {why}."] if metrics else []


def _content(evidence: Evidence) -> Content:
    coalitions = coalition_arms(evidence.results)
    if coalitions is None:
        return Content()
    shares = shapley_table(evidence.results, coalitions)
    return Content(with_rows(shares), tuple(shapley_grid(evidence.results, coalitions, shares)))


SECTION = Section("shapley", _content, lambda evidence: not evidence.results.is_search)
