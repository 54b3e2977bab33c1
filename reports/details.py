"""The grids beside the main one: isolated effects, the paper's orderings, references, candidates, importance."""

from collections.abc import Callable, Iterable

from reports.effects import Difference
from reports.finding import told
from reports.grids import Column, Grid, grid
from reports.metrics import Metric
from reports.numbers import NOTHING, UNKNOWN, fixed, short
from reports.reading import number
from reports.table import Row, Table

LOSS_DECIMALS, SCORE_DECIMALS = 4, 1


def grid_of(table: Table) -> Grid:
    """Return the grid of a table by its name."""
    return GRIDS[table.name](table)


def _text_columns(*titles: str) -> list[Column]:
    return [Column(title, numeric=False) for title in titles]


def _isolated(table: Table) -> Grid:
    def cells(row: Row) -> list[str]:
        return [str(row["arm"]), str(row["reference"]), str(row["path"]), _metric(row), _difference(row)]

    columns = [*_text_columns("arm", "against", "differs only in", "metric"), Column("Δ [95%], n")]
    return grid(table.name, "Isolated effects", columns, map(cells, table.rows))


def _orderings(table: Table) -> Grid:
    def cells(row: Row) -> list[str]:
        return [str(row["ordering"]), _metric(row), str(row["verdict"]), _difference(row)]

    columns = [*_text_columns("the paper's ordering", "metric", "here"), Column("Δ [95%], n")]
    return grid(table.name, "The paper's orderings", columns, map(cells, table.rows))


def _reference(table: Table) -> Grid:
    def cells(row: Row) -> list[str]:
        scores = (_maybe(row[name], SCORE_DECIMALS) for name in ("chance", "bag_of_words"))
        return [str(row["task"]), str(row["metric"]), *scores, str(row["examples"])]

    columns = [*_text_columns("task", "metric"), Column("chance"), Column("bag of words"), *_text_columns("examples")]
    return grid(table.name, "Without pretraining", columns, map(cells, table.rows))


def _candidates(table: Table) -> Grid:
    def cells(row: Row) -> list[str]:
        tokens, value = row["tokens"], row["value"]
        stop = "" if row["stopped_at_hurdle"] is None else f"hurdle {row['stopped_at_hurdle']}"
        against = f"{_maybe(value, LOSS_DECIMALS)} / {_maybe(row['threshold'], LOSS_DECIMALS)}" if stop else ""
        reached = short(tokens) if isinstance(tokens, int) else NOTHING
        rank = NOTHING if row["rank"] is None else str(row["rank"])
        return [str(row["arm"]), rank, str(row["changes"]), reached, _spread(row), stop, against, str(row["status"])]

    columns = [
        Column("candidate", numeric=False),
        Column("rank"),
        Column("changes", numeric=False),
        Column("furthest mark, tokens", "reached"),
        Column("held-out loss there ± sd (n)", "reached"),
        Column("stopped at", "stopped", numeric=False),
        Column("loss / bar", "stopped"),
        Column("status", numeric=False),
    ]
    return grid(table.name, "Candidates", columns, map(cells, table.rows))


def _importance(table: Table) -> Grid:
    def cells(row: Row) -> list[str]:
        return [str(row["path"]), _maybe(row["importance"], 2), str(row["candidates"])]

    columns = [*_text_columns("axis"), Column("share of variance"), Column("candidates")]
    return grid(table.name, "Importance of the axes", columns, map(cells, table.rows))


def _metric(row: Row) -> str:
    return Metric(str(row["metric"])).title


def _difference(row: Row) -> str:
    pairs = row["n"]
    assert isinstance(pairs, int)
    if not pairs:
        return NOTHING
    return told(Difference(pairs, number(row["delta"]), number(row["low"]), number(row["high"])))


def _spread(row: Row) -> str:
    if row["held_out_loss"] is None:
        return NOTHING
    spread = UNKNOWN if row["sd"] is None else _maybe(row["sd"], LOSS_DECIMALS)
    return f"{_maybe(row['held_out_loss'], LOSS_DECIMALS)} ± {spread} ({row['n']})"


def _maybe(value: object, decimals: int) -> str:
    return fixed(value, decimals) if isinstance(value, int | float) else NOTHING


GRIDS: dict[str, Callable[[Table], Grid]] = {
    "isolated": _isolated,
    "orderings": _orderings,
    "reference": _reference,
    "candidates": _candidates,
    "importance": _importance,
}


def grids_of(tables: Iterable[Table]) -> tuple[Grid, ...]:
    """Return the grids of the tables that have rows and a grid of their own."""
    return tuple(grid_of(table) for table in tables if table.name in GRIDS and table.rows)
