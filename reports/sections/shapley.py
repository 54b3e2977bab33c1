"""Shapley values of the factors of a two-level full factorial: each one's share over all orders of adding them.

The value of a set of changes is the metric of the arm that has these changes and no others. The shares add up to the
difference between the arm with all changes and the baseline (`analysis/shapley.py`), the last row of each metric. No
shares are given where the interval of that difference contains 0: near 0 they grow without bound.
"""

from collections.abc import Iterator

from analysis.difference import Difference
from analysis.shapley import all_orders
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING
from reports.section import Content, Section, with_rows
from reports.sections.difference_cells import difference_cell
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.crossed import CrossedArms, crossed_arms
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, number, table

WHOLE = "all changes together"
"""Row of the difference between the arm with all changes and the one with none."""
LARGEST = 8
"""Most factors of a table: a factorial of more has over 256 arms."""


def factorial_of(results: Results) -> CrossedArms | None:
    """Return the arms of a two-level full factorial with every run there; None without one."""
    crossed = crossed_arms(results)
    if crossed is None or crossed.design.fraction or crossed.design.missing:
        return None
    design = crossed.design
    return crossed if design.two_level and design.full and len(design.factors) <= LARGEST else None


def shapley_table(results: Results, crossed: CrossedArms) -> Table:
    """Return the Shapley value of every factor's change on every metric, and the difference that these add up to."""
    return table("shapley", "factor metric n delta low high share", _rows(results, crossed))


def _rows(results: Results, crossed: CrossedArms) -> Iterator[Row]:
    names = [levels[1] for levels in crossed.design.level_names]
    weights = all_orders(names)
    arms_by_set = {
        frozenset(name for name, level in zip(names, run, strict=True) if level): arm
        for run, arm in crossed.arms.items()
    }
    arms = [arms_by_set[each] for each in weights.coalitions]
    for metric in results.metrics:
        whole, *values = (
            results.contrast(dict(zip(arms, row, strict=True)), metric)
            for row in [weights.weights.sum(axis=0).tolist(), *weights.weights.tolist()]
        )
        for name, difference in [*zip(names, values, strict=True), (WHOLE, whole)]:
            row: Row = {"factor": name, "metric": metric.name, "n": difference.n, **interval(difference)}
            yield {**row, "share": _share(difference, whole)}


def _share(value: Difference, whole: Difference) -> float | None:
    """Return the share of the whole; None where the whole's interval contains 0 or is unknown."""
    if value.delta is None or whole.delta is None or not whole.excludes_zero:
        return None
    return value.delta / whole.delta


def shapley_grid(results: Results, shares: Table) -> Iterator[Grid]:
    """Yield the values on the headline metrics."""
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    rows = [row for row in shares.rows if row["metric"] in decimals and row["n"]]
    columns = [Column("factor", numeric=False), Column("metric", numeric=False), Column("Δ [95%] (n)")]
    columns.append(Column("share of the whole"))
    if rows:
        title = "Shapley values: what each change contributes, averaged over all orders of adding them"
        shown = grid("shapley", title, columns, (_cells(row, decimals[str(row["metric"])]) for row in rows))
        left_out = [str(row["metric"]) for row in rows if row["factor"] == WHOLE and row["share"] is None]
        yield with_notes(shown, [_note(results), *_why_no_share(left_out)])


def _cells(row: Row, decimals: int) -> list[str | Cell]:
    share = number(row["share"])
    text = NOTHING if share is None else f"{100 * share:.0f}%".replace("-", "−")
    return [str(row["factor"]), Metric(str(row["metric"])).title, difference_cell(row, decimals), text]


def _note(results: Results) -> str:
    return (
        f"The values of a metric add up to {WHOLE}: the arm with all of them minus the one with none. A "
        f"share is negative where a change works against that. Own 95% intervals by {TEST_NAMES[results.test]}, "
        "without correction."
    )


def _why_no_share(metrics: list[str]) -> list[str]:
    names = ", ".join(Metric(name).title for name in metrics)
    why = "the interval of all changes together contains 0 or is unknown, so that the denominator may be 0"
    return [f"No shares on {names}: {why}."] if metrics else []


def _content(evidence: Evidence) -> Content:
    crossed = factorial_of(evidence.results)
    if crossed is None:
        return Content()
    shares = shapley_table(evidence.results, crossed)
    return Content(with_rows(shares), tuple(shapley_grid(evidence.results, shares)))


SECTION = Section("shapley", _content, lambda evidence: not evidence.results.is_search)
