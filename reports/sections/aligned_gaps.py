"""Gaps in held-out loss with starts separated from ends, and by budget where arms differ in it."""

from collections.abc import Iterable, Iterator, Sequence

from analysis.difference import Difference
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, fixed, short
from reports.section import Content, Section, with_rows
from reports.sections.difference_cells import difference_cell, interval_cell
from reports.statistics.aligned_gaps import AlignedGap, AlignedGaps
from reports.statistics.budgets import BY_BUDGET, BudgetGap, budget_table
from reports.statistics.evidence import Evidence
from reports.statistics.forecast import LOSS
from reports.table import Row, Table, table

NAME = "aligned_gaps"
COLUMNS = (
    "arm exits exit_first exit_last never_left level n_raw delta_raw low_raw high_raw "
    "n_tokens delta_tokens low_tokens high_tokens n_rate delta_rate low_rate high_rate"
)
KINDS = ("raw", "tokens", "rate")
TITLES = ("at the end", "at equal tokens since", "at equal rate integral since")
WELCH = "Δ [95%] (n)"


def aligned_table(found: AlignedGaps | None) -> Table:
    """Return one row per arm: when its seeds leave the plateau, its gap, and the gap at equal progress since."""
    return table(NAME, COLUMNS, () if found is None else (_row(gap, found.level) for gap in found.gaps))


def _row(gap: AlignedGap, level: float) -> Row:
    left = [at for at in gap.exits if at is not None]
    differences = zip(KINDS, (gap.raw, gap.tokens, gap.rate), strict=True)
    return {
        "arm": gap.arm,
        "exits": len(left),
        "exit_first": round(min(left)) if left else None,
        "exit_last": round(max(left)) if left else None,
        "never_left": len(gap.exits) - len(left),
        "level": level,
        **{key: value for kind, difference in differences for key, value in _prefixed(difference, kind)},
    }


def _prefixed(difference: Difference, kind: str) -> Iterator[tuple[str, int | float | None]]:
    yield f"n_{kind}", difference.n
    yield f"delta_{kind}", difference.delta
    yield f"low_{kind}", difference.low
    yield f"high_{kind}", difference.high


def aligned_grid(found: AlignedGaps, rows: Iterable[Row], decimals: int) -> Grid:
    """Return the table as people read it."""
    columns = [Column("arm", numeric=False), Column("leaves the plateau after")]
    columns += [Column(title, WELCH) for title in TITLES]
    cells: Iterator[list[str | Cell]] = (
        [str(row["arm"]), _exit_text(row), *_gap_cells(row, decimals)] for row in rows
    )
    title = "Held-out loss against the baseline, with the start separated from the end"
    return with_notes(grid(NAME, title, columns, cells), _notes(found))


def _exit_text(row: Row) -> str:
    never = f"{row['never_left']} never" if row["never_left"] else ""
    if not row["exits"]:
        return never or NOTHING
    ends = dict.fromkeys(short(int(str(row[each]))) for each in ("exit_first", "exit_last"))
    return ", ".join(filter(None, ["–".join(ends), never]))


def _gap_cells(row: Row, decimals: int) -> list[Cell]:
    return [difference_cell(row, decimals, f"_{kind}") for kind in KINDS]


def _notes(found: AlignedGaps) -> Iterator[str]:
    left = [at for at in found.baseline_exits if at is not None]
    never = len(found.baseline_exits) - len(left)
    yield (
        f"A run leaves the plateau where its training loss breaks away from the level that all runs share, "
        f"{fixed(found.level, 2)} nats (change-point regression); the baseline after "
        f"{', '.join(short(round(at)) for at in left)} tokens{f', {never} of its seeds never' if never else ''}. "
        f"Seeds at which either run never leaves it are in no column."
    )
    yield (
        "Equal tokens since: both runs are read at as many tokens after their exits as the later of the two has, the "
        "earlier one before its learning rate has come down. Equal rate integral since: at equal sums of the "
        "learning rates of all updates since. Losses are interpolated between recorded points. Welch's intervals, "
        "not corrected for the number of arms; they include how much the exits differ by seed."
    )


def budget_grid(gaps: Sequence[BudgetGap], decimals: int) -> Grid:
    """Return the gaps as people read them: a row per architecture, a column per budget."""
    budgets = sorted({gap.tokens for gap in gaps})
    cells = {(gap.architecture, gap.tokens): interval_cell(gap.difference, decimals) for gap in gaps}
    rows = (
        [name, *(cells.get((name, tokens), NOTHING) for tokens in budgets)]
        for name in dict.fromkeys(gap.architecture for gap in gaps)
    )
    columns = [Column("arm", numeric=False), *(Column(f"{short(tokens)} tokens", WELCH) for tokens in budgets)]
    note = "Every budget is a training of its own with its own schedule; the baseline beside it has the same budget."
    title = "Held-out loss against the baseline by pretraining budget"
    return with_notes(grid(BY_BUDGET, title, columns, rows), [f"{note} Welch's intervals, not corrected."])


def _content(evidence: Evidence) -> Content:
    found, gaps = evidence.aligned_gaps, evidence.budget_gaps
    decimals = evidence.results.decimals(LOSS)
    aligned, by_budget = aligned_table(found), budget_table(gaps)
    grids = [] if found is None else [aligned_grid(found, aligned.rows, decimals)]
    grids += [budget_grid(gaps, decimals)] if gaps else []
    return Content(with_rows(aligned, by_budget), tuple(grids))


SECTION = Section(NAME, _content, lambda evidence: evidence.aligned_gaps is not None or bool(evidence.budget_gaps))
