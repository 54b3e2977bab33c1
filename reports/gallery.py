"""The pictures of a report: which there are follows from its results alone, each with the numbers behind it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reports.attention import AttentionMaps, maps_table
from reports.axis_curve import AxisCurve, axis_table
from reports.drawing.door import svg_document
from reports.figure_data import Curves, Forest, curves_table, forest_table
from reports.figures import Drawn, pdf_of, svg_of
from reports.formats.csv import render_table
from reports.ladder import Ladder, ladder_table
from reports.pareto import Pareto, pareto_table
from reports.report import Report
from reports.table import Table

FIGURES = "figures"


@dataclass(frozen=True)
class Picture:
    """A figure that a report has."""

    name: str
    """The name of its files."""
    title: str
    data: Drawn

    @property
    def svg(self) -> str:
        """The figure as an SVG element."""
        return svg_of(self.data)


def pictures_of(report: Report) -> tuple[Picture, ...]:
    """Return the report's figures in the order in which they are shown."""
    return tuple(Picture(name, title, data) for name, title, data in _all(report) if data is not None)


def write_pictures(report: Report, folder: Path) -> tuple[Path, ...]:
    """Write each figure as SVG and as PDF with its numbers as CSV, and drop files of figures that are no more."""
    target = folder / FIGURES
    texts: dict[str, bytes] = {}
    for picture in pictures_of(report):
        texts[f"{picture.name}.svg"] = svg_document(picture.svg).encode()
        texts[f"{picture.name}.pdf"] = pdf_of(picture.data)
        texts[f"{picture.name}.csv"] = render_table(numbers_of(picture.data)).encode()
    if texts:
        target.mkdir(exist_ok=True)
    for leftover in target.glob("*") if target.is_dir() else ():
        if leftover.name not in texts:
            leftover.unlink()
    return tuple(_put(target / name, content) for name, content in texts.items())


def numbers_of(data: Drawn) -> Table:
    """Return what a figure shows as rows."""
    match data:
        case Curves():
            return curves_table(data)
        case Forest():
            return forest_table(data)
        case Pareto():
            return pareto_table(data)
        case AxisCurve():
            return axis_table(data)
        case Ladder():
            return ladder_table(data)
        case AttentionMaps():
            return maps_table(data)


def _all(report: Report) -> Iterator[tuple[str, str, Drawn | None]]:
    axis = report.axis.axis if report.axis is not None else ""
    yield "axis", f"Results by {axis}", report.axis
    yield "ladder", "What each step does", report.ladder
    yield "attention", "Where tokens look", report.attention
    yield "curves", "Held-out loss by tokens seen", report.curves
    yield "forest", "Differences to the baseline", report.forest
    yield "pareto", "Results against costs", report.pareto


def _put(path: Path, content: bytes) -> Path:
    unfinished = path.with_name(f".{path.name}.writing")
    unfinished.write_bytes(content)
    return unfinished.replace(path)
