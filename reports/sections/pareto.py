"""The Pareto front of a search as a table: candidates that no other candidate dominates on result and cost."""

from collections.abc import Iterator

from reports.grid import Column, Grid, grid
from reports.number_format import fixed, short
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.pareto import COST_TITLES, pareto_table
from reports.table import Row, Table
from steeplechase.configuration.metrics import HELD_OUT_LOSS

LOSS_DECIMALS, SCORE_DECIMALS = 4, 1


def pareto_grid(rows: Table) -> Iterator[Grid]:
    """Yield the front of each cost; dominated candidates are in the table and in the figure only."""

    def cells(row: Row) -> list[str]:
        price, value = row["price"], row["value"]
        assert isinstance(price, float)
        assert isinstance(value, float)
        decimals = LOSS_DECIMALS if row["metric"] == HELD_OUT_LOSS else SCORE_DECIMALS
        return [COST_TITLES[str(row["cost"])], short(round(price)), str(row["arm"]), fixed(value, decimals)]

    columns = [Column("cost", numeric=False), Column("price"), Column("candidate", numeric=False)]
    columns.append(Column(Metric(str(rows.rows[0]["metric"])).title))
    on_front = (row for row in rows.rows if row["front"])
    yield grid(
        rows.name,
        "Pareto front: no other candidate is better at the same cost or less",
        columns,
        map(cells, on_front),
    )


def _content(evidence: Evidence) -> Content:
    points = pareto_table(evidence.pareto)
    return Content(with_rows(points), tuple(pareto_grid(points)) if points.rows else ())


SECTION = Section("pareto", _content, lambda evidence: evidence.results.is_search)
