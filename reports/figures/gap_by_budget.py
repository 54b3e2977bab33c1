"""The gap to the baseline in held-out loss by pretraining budget, every budget a training of its own."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, series_style
from reports.figures.named_lines import narrow_panel, wide_panel
from reports.figures.style import COLOURS, QUIET
from reports.number_format import short
from reports.sanitise import printable
from reports.statistics.budgets import BY_BUDGET, BudgetGap, budget_table
from reports.statistics.evidence import Evidence

ARCHITECTURES_AT_MOST = len(COLOURS) - 1
TITLE, SPREAD = "Δ held-out loss (nats) to the baseline", "95% interval"
OF_THE_BASELINE = 1  # style: the first is the baseline's in other figures


def gaps_of(evidence: Evidence) -> tuple[BudgetGap, ...] | None:
    """Return the measured gaps of the first architectures that have two; None where there are none."""
    measured = [gap for gap in evidence.budget_gaps if gap.difference.delta is not None]
    names = [gap.architecture for gap in measured]
    shown = [name for name in dict.fromkeys(names) if names.count(name) > 1][:ARCHITECTURES_AT_MOST]
    return tuple(gap for gap in measured if gap.architecture in shown) or None


def draw(gaps: Sequence[BudgetGap]) -> Figure:
    """Return one panel with a line per architecture, named at the right."""
    return wide_panel(partial(_draw_panel, gaps=gaps, between=" of the same budget, "), _names(gaps), OF_THE_BASELINE)


def draw_narrow(gaps: Sequence[BudgetGap]) -> Figure:
    """Return the panel with the names below it."""
    between = "\nof the same budget, "
    return narrow_panel(partial(_draw_panel, gaps=gaps, between=between), _names(gaps), OF_THE_BASELINE)


def _draw_panel(axes: Any, gaps: Sequence[BudgetGap], between: str) -> None:
    axes.axhline(0, color=QUIET, linewidth=0.9, zorder=0)
    for position, name in enumerate(_architectures(gaps), OF_THE_BASELINE):
        style, own = series_style(position), [gap for gap in gaps if gap.architecture == name]
        axes.plot([gap.tokens for gap in own], [gap.difference.delta for gap in own], **style)
        for gap in own:
            if gap.difference.low is not None:
                axes.vlines(
                    [gap.tokens], gap.difference.low, gap.difference.high, color=style["color"], linewidth=1.1
                )
    budgets = sorted({gap.tokens for gap in gaps})
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [short(tokens) for tokens in budgets])
    axes.minorticks_off()
    spread = any(gap.difference.low is not None for gap in gaps)
    axes.set_title(f"{TITLE}{between}{SPREAD}" if spread else TITLE, fontsize=9.5)
    axes.set_xlabel("tokens of pretraining")
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _architectures(gaps: Sequence[BudgetGap]) -> list[str]:
    return list(dict.fromkeys(gap.architecture for gap in gaps))


def _names(gaps: Sequence[BudgetGap]) -> list[str]:
    return [printable(name) for name in _architectures(gaps)]


FIGURE = ReportFigure(
    BY_BUDGET,
    lambda _: "Gap to the baseline by pretraining budget",
    gaps_of,
    budget_table,
    draw,
    draw_narrow,
)
