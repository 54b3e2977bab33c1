"""Every figure of a report, one file each: its data and its drawing. A new figure is one file and one line here."""

from typing import Any

from reports.figures import aligned_gaps, attention, axis_curve, curves, forest, ladder, latency, pareto
from reports.figures.figure import ReportFigure
from reports.statistics.evidence import Evidence
from reports.statistics.latency import LatencyEvidence

FIGURES: tuple[ReportFigure[Evidence, Any], ...] = (
    axis_curve.FIGURE,
    ladder.FIGURE,
    attention.FIGURE,
    curves.FIGURE,
    aligned_gaps.FIGURE,
    forest.FIGURE,
    pareto.FIGURE,
)
"""Of experiments that train, in the order in which they are shown."""
LATENCY_FIGURES: tuple[ReportFigure[LatencyEvidence, Any], ...] = (latency.FIGURE,)
"""Of latency experiments."""
