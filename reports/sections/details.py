"""The grids beside the main one: isolated effects, references, candidates, importance."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from reports.figures.pareto import pareto_grid
from reports.number_format import NOTHING, UNKNOWN, distinct, fixed, short
from reports.sections.audit import audit_grid
from reports.sections.details_text import difference_cell
from reports.sections.grids import Cell, Column, Grid, grid
from reports.sections.matched_budget import MATCHED, matched_grids
from reports.sections.table import Row, Table, number
from reports.statistics.metrics import Metric

LOSS_DECIMALS, SCORE_DECIMALS = 4, 1
DELTA = Column("Δ [95%] (n)")

Decimals = Mapping[str, int]
"""By name of the metrics worth a line."""


def grids_of(tables: Iterable[Table], decimals: Decimals) -> Iterator[Grid]:
    """Yield the grids of the tables that have rows and a grid of their own."""
    makers: dict[str, Callable[[Table], Iterable[Grid]]] = {
        "isolated": partial(_isolated, decimals=decimals),
        MATCHED: partial(matched_grids, decimals=decimals),
        "reference": _reference,
        "candidates": _candidates,
        "importance": _importance,
        "audit": audit_grid,
        "pareto": pareto_grid,
    }
    for table in tables:
        if table.name in makers and table.rows:
            yield from makers[table.name](table)


def _text_columns(*titles: str) -> list[Column]:
    return [Column(title, numeric=False) for title in titles]


def _isolated(table: Table, decimals: Decimals) -> Iterator[Grid]:
    """Yield one grid per path, so that its name stands once above the pairs."""
    for path in dict.fromkeys(row["path"] for row in table.rows):
        rows = [row for row in table.rows if row["path"] == path and row["metric"] in decimals]
        cells = (_pair_cells(row, decimals) for row in rows)
        title = f"The effect of {path} alone: arms that are equal in all else"
        yield grid(table.name, title, [*_text_columns("arms", "metric"), DELTA], cells)


def _reference(table: Table) -> Iterator[Grid]:
    def cells(row: Row) -> list[str]:
        scores = (_maybe(row[name], SCORE_DECIMALS) for name in ("chance", "bag_of_words"))
        counts = (_count(row[name]) for name in ("train_examples", "dev_examples"))
        return [str(row["task"]), str(row["metric"]), *scores, *counts]

    scores = [Column("chance"), Column("bag of words")]
    columns = [*_text_columns("task", "metric"), *scores, Column("train", "examples"), Column("dev", "examples")]
    yield grid(table.name, "Reference points: chance and bag of words", columns, map(cells, table.rows))


def _candidates(table: Table) -> Iterator[Grid]:
    def cells(row: Row) -> list[str | Cell]:
        tokens, sets = row["tokens"], row["threshold"] is None and row["value"] is not None
        level, word = row["stopped_at_hurdle"], "sets hurdle" if sets else "hurdle"
        return [
            str(row["arm"]),
            str(row["rank"] or NOTHING),
            str(row["changes"]),
            short(tokens) if isinstance(tokens, int) else NOTHING,
            str(row["seeds"] or NOTHING),
            _spread(row),
            difference_cell(row, LOSS_DECIMALS),
            NOTHING if level is None else f"{word} {level}",
            NOTHING if level is None else _against(row),
        ]

    columns = [
        Column("candidate", numeric=False),
        Column("rank"),
        Column("changes", numeric=False),
        Column("tokens", "furthest mark"),
        Column("seeds", "furthest mark"),
        Column("loss ± sd (n)", "furthest mark"),
        Column("Δ [95%] (n)", "furthest mark"),
        Column("at", "stopped", numeric=False),
        Column("loss / bar", "stopped"),
    ]
    title = "Candidates, by how far they came and by Δ to the baseline there"
    yield grid(table.name, title, columns, map(cells, table.rows))


def _against(row: Row) -> str:
    """Return the value and the bar it met, with decimals enough to read which is the larger."""
    value, bar = number(row["value"]), number(row["threshold"])
    if value is None or bar is None:
        return f"{_maybe(value, LOSS_DECIMALS)} / {_maybe(bar, LOSS_DECIMALS)}"
    return " / ".join(distinct(value, bar, LOSS_DECIMALS))


def _importance(table: Table) -> Iterator[Grid]:
    def cells(row: Row) -> list[str]:
        return [str(row["path"]), _maybe(row["importance"], 2), str(row["candidates"])]

    columns = [*_text_columns("axis"), Column("share of variance"), Column("candidates")]
    title = "What the held-out loss at the first hurdle depends on"
    yield grid(table.name, title, columns, map(cells, table.rows))


def _pair_cells(row: Row, decimals: Decimals) -> list[str | Cell]:
    return [f"{row['arm']} − {row['reference']}", _metric(row), _difference(row, decimals)]


def _metric(row: Row) -> str:
    return Metric(str(row["metric"])).title


def _difference(row: Row, decimals: Decimals) -> Cell:
    return difference_cell(row, decimals[str(row["metric"])])


def _spread(row: Row) -> str:
    if row["held_out_loss"] is None:
        return NOTHING
    spread = UNKNOWN if row["sd"] is None else _maybe(row["sd"], LOSS_DECIMALS)
    return f"{_maybe(row['held_out_loss'], LOSS_DECIMALS)} ± {spread} ({row['n']})"


def _count(value: object) -> str:
    return str(value) if isinstance(value, int) else NOTHING


def _maybe(value: object, decimals: int) -> str:
    return fixed(value, decimals) if isinstance(value, int | float) else NOTHING
