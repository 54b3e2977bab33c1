"""Gaps in held-out loss to the baseline by pretraining budget, where arms differ in it."""

from collections.abc import Sequence

from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import NOTHING, short
from reports.section import Content, Section, with_rows
from reports.sections.difference_cells import interval_cell
from reports.statistics.budgets import BY_BUDGET, BudgetGap, budget_table
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from steeplechase.configuration.metrics import HELD_OUT_LOSS

WELCH = "Δ [95%] (n)"


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
    gaps = evidence.budget_gaps
    shown = budget_grid(gaps, evidence.results.decimals(Metric(HELD_OUT_LOSS)))
    return Content(with_rows(budget_table(gaps)), (shown,))


SECTION = Section(BY_BUDGET, _content, lambda evidence: bool(evidence.budget_gaps))
