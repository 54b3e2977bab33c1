"""Every figure of a report, one file each: its data and its drawing. A new figure is one file and one line here."""

from typing import Any

from reports.figures import attention, axis_curve, curves, forest, ladder, pareto
from reports.figures.figure import ReportFigure

FIGURES: tuple[ReportFigure[Any], ...] = (
    axis_curve.FIGURE,
    ladder.FIGURE,
    attention.FIGURE,
    curves.FIGURE,
    forest.FIGURE,
    pareto.FIGURE,
)
"""In the order in which they are shown."""
