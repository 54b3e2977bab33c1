"""The paper's numbers beside the measured ones: `not found` without a source, `not measured` without a measurement.

The paper's come from `search_space/released/systems/`, by the table and rows that the experiment names.
"""

from collections.abc import Iterator

from reports.number_format import NOTHING, fixed, scientific, short
from reports.section import Content, Section, spread_text
from reports.statistics.metrics import Metric, in_place_of_score
from reports.statistics.results import Results
from reports.table import Column, Row, Table, number, shown, words
from search_space.cost import CONVENTIONS
from search_space.module_counts import ModuleFault
from search_space.released.papers import PublishedRow, PublishedTable, published
from steeplechase.analysis.difference import Effect
from steeplechase.configuration.metrics import DESCRIPTIONS, SCORE
from steeplechase.foundation.schema import JsonValue
from steeplechase.foundation.stand_ins import CodeNeeded
from steeplechase.ledger.records import ArmRow

PAPER = "paper"
NOT_FOUND, NOT_MEASURED = "not found", "not measured"
PARAMETERS, TRAIN_FLOPS = "parameters", "train_flops"
ELECTRA = CONVENTIONS["electra"]
HALF = "here the half of dev that no setting was chosen on"
GLUE = "table3"
"""The table whose columns are the tasks of the paper's GLUE score."""


def paper_rows(results: Results) -> tuple[PublishedTable, dict[str, str]] | None:
    """Return the paper's table and, by arm, the name of its row; None where the experiment names none."""
    paper = results.experiment.paper
    if paper is None or paper.table is None or paper.table not in published().tables:
        return None
    paper_table = published().tables[paper.table]
    return paper_table, {arm: row for arm, row in paper.rows.items() if row in paper_table.rows}


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per arm and measure of the paper's table; none if the experiment names no table."""
    paper_table, rows = paper_rows(results) or (None, {})
    for arm in results.arms:
        if paper_table is not None and arm.name in rows:
            row = paper_table.rows[rows[arm.name]]
            for column in paper_table.columns:
                effect = _measured(results, arm.name, column)
                if column in row.values or effect is not None or column in (SCORE, *DESCRIPTIONS):
                    caveat = None if effect is None else _caveat(results, paper_table, column)
                    own: Row = {name: getattr(effect, name, None) for name in ("n", "mean", "sd")}
                    yield {**_head(arm.name, rows, column, row), **own, "beware": caveat}
            yield from _costs(results, arm, rows, row)


def _head(arm: str, rows: dict[str, str], measure: str, row: PublishedRow) -> dict[str, JsonValue]:
    costs: dict[str, JsonValue] = {
        PARAMETERS: row.parameters or row.printed_parameters,
        TRAIN_FLOPS: row.train_flops or row.printed_train_flops,
    }
    value = {**row.values, **costs}.get(measure)
    direction = row.direction if value is None and measure not in costs else None
    field = measure if value is not None else "direction" if direction else None
    source = None if field is None else published().sources[row.source_of(field)]
    return {
        "arm": arm,
        "row": rows[arm],
        "measure": measure,
        "paper": value,
        "source": source,
        "direction": direction,
    }


def _costs(results: Results, arm: ArmRow, rows: dict[str, str], row: PublishedRow) -> Iterator[Row]:
    yield {**_head(arm.name, rows, PARAMETERS, row), "n": 1, "mean": arm.parameters, "sd": None, "beware": None}
    tokens = results.experiment.pretraining.tokens
    try:
        flops = arm.candidate.train_flops(tokens, results.experiment.baseline.architecture, ELECTRA)
    except (CodeNeeded, ModuleFault):  # reports run no plugin, and the ledger has no FLOPs of this convention
        return
    long_sequences = arm.candidate.recipe.long_sequence_share
    caveat = f"both by ELECTRA's count{', both without the lengthening' if long_sequences else ''}"
    yield {**_head(arm.name, rows, TRAIN_FLOPS, row), "n": 1, "mean": flops, "sd": None, "beware": caveat}


def _measured(results: Results, arm: str, column: str) -> Effect | None:
    task, _, name = column.partition(":")
    is_primary = task in results.tasks and results.primary(task) == name
    named = task if is_primary else column  # a task's primary metric has the task's name
    metric = Metric(in_place_of_score(named, results.tasks))
    return results.effect(arm, metric) if metric in (*results.metrics, *results.descriptions) else None


def _caveat(results: Results, paper_table: PublishedTable, column: str) -> str | None:
    """Return why the two numbers of a row are not comparable; None if they are."""
    if column in DESCRIPTIONS:
        return "over which text, length, layers and heads: not found there"
    reasons = []
    if not paper_table.split.startswith("dev"):
        paper_split = "split not found" if paper_table.split == NOT_FOUND else paper_table.split
        reasons.append(f"{paper_split} there, dev here")
    search = results.experiment.fine_tuning.search
    if search is not None and search.choose_on == "held_out_half" and (":" in column or column == SCORE):
        reasons.append(HALF)
    tasks = {name.partition(":")[0] for name in published().tables[GLUE].columns if ":" in name}
    if column == SCORE and set(results.tasks) != tasks:
        reasons.append(f"here the mean of other tasks: {', '.join(results.tasks)}")
    return "; ".join(reasons) or None


def _published(row: Row) -> str:
    text = NOT_FOUND if row["paper"] is None else _value_text(str(row["measure"]), row["paper"])
    return f"{text}; {row['direction']}" if row["direction"] and row["paper"] is None else text


def _own(row: Row) -> str:
    measure, mean, seeds = str(row["measure"]), number(row["mean"]), row["n"]
    if measure in (PARAMETERS, TRAIN_FLOPS):
        return NOTHING if mean is None else _value_text(measure, mean)
    if isinstance(seeds, int):
        return spread_text(mean, number(row["sd"]), seeds, 3 if measure in DESCRIPTIONS else 1)
    return NOT_MEASURED


COLUMNS = (
    *(words("arm"), words("the paper's row", "row")),
    words("measure", lambda row: str(row["measure"]).replace("_", " ").replace(":", ": ")),
    *(Column("the paper", read=_published), Column("measured", read=_own)),
    words("not comparable: why", lambda row: str(row["beware"] or "")),
)


def _value_text(measure: str, value: JsonValue) -> str:
    amount = number(value)
    if amount is None:
        return str(value)  # as printed: 14M, 6.4e19+
    if measure == PARAMETERS:
        return short(round(amount))
    return scientific(round(amount)) if measure == TRAIN_FLOPS else fixed(amount, 1)


def _content(results: Results) -> Content:
    comparison, named = Table.of(PAPER, _rows(results)), paper_rows(results)
    title = f"The paper's numbers and the measured ones: {named[0].title if named else ''}"
    return Content(comparison.filled, shown(PAPER, title, COLUMNS, comparison.rows))


SECTION = Section("paper", _content)
