"""Shapley values of changes, the difference that they add up to as the last row of each metric."""

from collections.abc import Iterator

from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, percent
from reports.section import Content, Section, with_rows
from reports.sections.difference_cells import difference_cell
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.statistics.shapley import COLUMNS, WHOLE, ShapleyValues
from reports.table import Row, Table, number, table


def shapley_table(values: ShapleyValues) -> Table:
    """Return the Shapley value of every change on every metric, and the difference that these add up to."""
    return table("shapley", COLUMNS, (each.row for each in values.rows))


def shapley_grid(results: Results, values: ShapleyValues, shares: Table) -> Iterator[Grid]:
    """Yield the values on the headline metrics."""
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    rows = [row for row in shares.rows if row["metric"] in decimals and row["n"]]
    columns = [Column("factor", numeric=False), Column("metric", numeric=False), Column("Δ [95%] (n)")]
    columns.append(Column("share of the whole"))
    if rows:
        orders = "all" if values.orders is None else f"{values.orders} random"
        title = f"Shapley values: what each change contributes, averaged over {orders} orders of adding them"
        shown = grid("shapley", title, columns, (_cells(row, decimals[str(row["metric"])]) for row in rows))
        left_out = [str(row["metric"]) for row in rows if row["factor"] == WHOLE and row["share"] is None]
        yield with_notes(shown, [_note(results, values), *_why_no_share(left_out)])


def _cells(row: Row, decimals: int) -> list[str | Cell]:
    share = number(row["share"])
    text = NOTHING if share is None else percent(share)
    return [str(row["factor"]), Metric(str(row["metric"])).title, difference_cell(row, decimals), text]


def _note(results: Results, values: ShapleyValues) -> str:
    test = TEST_NAMES[results.test]
    test += "" if values.orders is None else ", the spread between the random orders added"
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
    values = evidence.shapley_values
    if values is None:
        return Content()
    shares = shapley_table(values)
    return Content(with_rows(shares), tuple(shapley_grid(evidence.results, values, shares)))


SECTION = Section("shapley", _content, lambda evidence: not evidence.results.is_search)
