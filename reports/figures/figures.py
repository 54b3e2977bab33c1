"""What a figure shows, drawn: from any figure's data to SVG, PDF or PNG in the one style."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from reports.drawing import attention, axis_curve, curves, forest, ladder, latency, pareto
from reports.figures.axis_curve import AxisCurve
from reports.figures.figure_data import Curves, Forest
from reports.figures.ladder import Ladder
from reports.figures.matplotlib_style import Draw, Figure, pdf_bytes, png_bytes, svg_text
from reports.figures.pareto import Pareto
from reports.sections.attention import AttentionMaps
from reports.statistics.latency import LatencyResults

Drawn = Curves | Forest | Pareto | AxisCurve | Ladder | AttentionMaps | LatencyResults


def svg_of(data: Drawn) -> str:
    """Return the figure as an SVG element without prologue, ready to stand inside a page."""
    return svg_text(_draw(data))


def narrow_svg_of(data: Drawn) -> str:
    """Return the figure for a narrow page, with what stands at its sides below or above; empty where it has none."""
    draw = narrow_draw(data)
    return "" if draw is None else svg_text(draw)


def pdf_of(data: Drawn) -> bytes:
    """Return the figure as a PDF page, for papers."""
    return pdf_bytes(_draw(data))


def save_png(data: Drawn, path: Path, dots_per_inch: int = 160) -> None:
    """Write the figure as a PNG on white, for pages that show no SVG."""
    path.write_bytes(png_bytes(_draw(data), dots_per_inch))


def narrow_draw(data: Drawn) -> Draw | None:
    """Return what draws the figure for a narrow page, None where it is only scaled."""
    match data:
        case Curves():
            return partial(curves.draw_narrow, data)
        case Forest():
            return partial(forest.draw_narrow, data)
        case AxisCurve():
            return partial(axis_curve.draw_narrow, data)
        case Pareto():
            return partial(pareto.draw_narrow, data)
        case Ladder() | AttentionMaps() | LatencyResults():
            return None


DRAWN_BY: dict[type[object], Callable[[Any], Figure]] = {
    Curves: curves.draw,
    Forest: forest.draw,
    Pareto: pareto.draw,
    AxisCurve: axis_curve.draw,
    Ladder: ladder.draw,
    AttentionMaps: attention.draw,
    LatencyResults: latency.draw,
}


def _draw(data: Drawn) -> Draw:
    return partial(DRAWN_BY[type(data)], data)
