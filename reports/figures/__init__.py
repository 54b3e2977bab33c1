"""Every figure of a report, one file each: its data and its drawing. A new figure is one file and one line here."""

from typing import Any

from reports.figures import (
    attention,
    axis_response,
    best_by_cost,
    contributions,
    curves,
    forest,
    gap_by_budget,
    ladder,
    latency,
    pareto,
    perplexity_by_memory,
)
from reports.figures.figure import ReportFigure
from reports.statistics.evidence import Evidence
from reports.statistics.latency import LatencyEvidence

FIGURES: tuple[ReportFigure[Evidence, Any], ...] = (
    axis_response.FIGURE,
    ladder.FIGURE,
    contributions.FIGURE,
    attention.FIGURE,
    curves.FIGURE,
    perplexity_by_memory.FIGURE,
    gap_by_budget.FIGURE,
    forest.FIGURE,
    pareto.FIGURE,
    best_by_cost.FIGURE,
)
"""Figures of training experiments, in display order."""
LATENCY_FIGURES: tuple[ReportFigure[LatencyEvidence, Any], ...] = (latency.FIGURE,)
"""Figures of latency experiments."""
