"""A figure of a report: its data, its table, and its drawing."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from reports.figures.matplotlib_style import Figure, pdf_bytes, png_bytes, svg_text
from reports.statistics.results import Results
from reports.table import Table

Data = TypeVar("Data")


@dataclass(frozen=True)
class ReportFigure(Generic[Data]):
    """One kind of figure."""

    name: str
    """The name of its files."""
    title: Callable[[Data], str]
    data: Callable[[Results], Data | None]
    """The data of the figure, a pure function of the results; None if the figure does not apply."""
    table: Callable[[Data], Table]
    draw: Callable[[Data], Figure]

    def picture_of(self, results: Results) -> "Picture | None":
        """Return the figure with its data; None if it does not apply."""
        data = self.data(results)
        return None if data is None else Picture(self, data)


@dataclass(frozen=True)
class Picture:
    """A figure with its data, drawn lazily."""

    figure: ReportFigure[Any]
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
        """The figure as an SVG element for embedding, without prologue."""
        return svg_text(self._draw)

    @property
    def numbers(self) -> Table:
        """The data of the figure as rows."""
        return self.figure.table(self.data)

    def pdf(self) -> bytes:
        """Return the figure as a PDF page, for papers."""
        return pdf_bytes(self._draw)

    def png(self, dots_per_inch: int = 160) -> bytes:
        """Return the figure as a PNG on white, for pages without SVG."""
        return png_bytes(self._draw, dots_per_inch)

    def _draw(self) -> Figure:
        return self._drawn

    @cached_property
    def _drawn(self) -> Figure:
        """Drawn once for all formats: a figure of many candidates takes seconds."""
        return self.figure.draw(self.data)
