"""A figure of a report: the data behind it, the same as a table, and how it is drawn for wide and narrow pages."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from reports.figures.matplotlib_style import Draw, Figure, pdf_bytes, png_bytes, svg_text
from reports.table import Table

Evidence = TypeVar("Evidence")
Data = TypeVar("Data")


@dataclass(frozen=True)
class ReportFigure(Generic[Evidence, Data]):
    """One kind of figure; `FIGURE` in its file, listed once in reports/figures/__init__.py."""

    name: str
    """The name of its files."""
    title: Callable[[Data], str]
    data: Callable[[Evidence], Data | None]
    """What it shows, a pure function of the evidence; None where the figure does not apply."""
    table: Callable[[Data], Table]
    draw: Callable[[Data], Figure]
    draw_narrow: Callable[[Data], Figure] | None = None
    """For narrow pages, with what is at the sides above or below; None where the figure is only scaled."""

    def picture_of(self, evidence: Evidence) -> "Picture | None":
        """Return the figure with its data, None where it does not apply."""
        data = self.data(evidence)
        return None if data is None else Picture(self, data)


@dataclass(frozen=True)
class Picture:
    """A figure with its data. It is drawn when it is asked for, and once as SVG."""

    figure: ReportFigure[Any, Any]
    data: Any

    @property
    def name(self) -> str:
        """The name of its files."""
        return self.figure.name

    @property
    def title(self) -> str:
        """The heading above it."""
        return self.figure.title(self.data)

    @cached_property
    def svg(self) -> str:
        """The figure as an SVG element without prologue, ready to be part of a page."""
        return svg_text(self._draw)

    @cached_property
    def narrow_svg(self) -> str:
        """The figure for a narrow page; empty where it is only scaled."""
        draw = self.narrow_draw
        return "" if draw is None else svg_text(draw)

    @property
    def narrow_draw(self) -> Draw | None:
        """What draws the figure for a narrow page, None where it is only scaled."""
        return None if self.figure.draw_narrow is None else partial(self.figure.draw_narrow, self.data)

    @property
    def numbers(self) -> Table:
        """What the figure shows, as rows."""
        return self.figure.table(self.data)

    def pdf(self) -> bytes:
        """Return the figure as a PDF page, for papers."""
        return pdf_bytes(self._draw)

    def png(self, dots_per_inch: int = 160) -> bytes:
        """Return the figure as a PNG on white, for pages that show no SVG."""
        return png_bytes(self._draw, dots_per_inch)

    def _draw(self) -> Figure:
        return self.figure.draw(self.data)
