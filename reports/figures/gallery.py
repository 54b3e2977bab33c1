"""The pictures of a report: which there are follows from its results alone, each with the numbers behind it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reports.figures.axis_curve import AxisCurve, axis_table
from reports.figures.figure_data import Curves, Forest, curves_table, forest_table
from reports.figures.figures import Drawn, narrow_svg_of, pdf_of, svg_of
from reports.figures.ladder import Ladder, ladder_table
from reports.figures.matplotlib_style import svg_document
from reports.figures.pareto import Pareto, pareto_table
from reports.formats.csv import render_table
from reports.report import Report
from reports.sections.attention import AttentionMaps, maps_table
from reports.sections.latency import latency_table
from reports.sections.table import Table
from reports.statistics.latency import LatencyResults


@dataclass(frozen=True)
class Picture:
    """A figure that a report has."""

    name: str
    """The name of its files."""
    title: str
    data: Drawn

    @cached_property
    def svg(self) -> str:
        """The figure as an SVG element."""
        return svg_of(self.data)

    @cached_property
    def narrow_svg(self) -> str:
        """The figure for a narrow page; empty where it has no such drawing."""
        return narrow_svg_of(self.data)


def pictures_of(report: Report) -> tuple[Picture, ...]:
    """Return the report's figures in the order in which they are shown."""
    return tuple(Picture(name, title, data) for name, title, data in _all(report) if data is not None)


def files_of(pictures: Iterable[Picture]) -> Iterator[tuple[str, bytes]]:
    """Yield each figure as SVG and as PDF, and its numbers as CSV, by the names of the files."""
    for picture in pictures:
        yield f"{picture.name}.svg", svg_document(picture.svg).encode()
        yield f"{picture.name}.pdf", pdf_of(picture.data)
        yield f"{picture.name}.csv", render_table(numbers_of(picture.data)).encode()


NUMBERS_OF: dict[type[object], Callable[[Any], Table]] = {
    Curves: curves_table,
    Forest: forest_table,
    Pareto: pareto_table,
    AxisCurve: axis_table,
    Ladder: ladder_table,
    AttentionMaps: maps_table,
    LatencyResults: latency_table,
}


def numbers_of(data: Drawn) -> Table:
    """Return what a figure shows as rows."""
    return NUMBERS_OF[type(data)](data)


def _all(report: Report) -> Iterator[tuple[str, str, Drawn | None]]:
    axis = report.axis.axis if report.axis is not None else ""
    yield "axis", f"Results by {axis}", report.axis
    yield "ladder", "What each step does", report.ladder
    yield "attention", "Where tokens look", report.attention
    yield "curves", "Held-out loss by tokens seen", report.curves
    yield "forest", "Differences to the baseline", report.forest
    yield "pareto", "Results against costs", report.pareto
    yield "latency", "Time and FLOPs by length", report.latency
