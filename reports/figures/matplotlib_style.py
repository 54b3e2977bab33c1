"""The only module that imports matplotlib: figures in one style, saved as SVG, PDF or PNG.

matplotlib is imported when a figure is drawn, so that a report without figures does not wait for it. Drawing is
deterministic: fixed salt, no date, no version, so that equal results give equal bytes.
"""

import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

from reports.figures.style import COLOURS, LINE_STYLES, MARKERS, SETTINGS

Figure: TypeAlias = Any
"""`matplotlib.figure.Figure`, which has no types of its own."""

NO_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
DOTS_PER_INCH = 160
POINTS_PER_INCH = 72
HINTED = 1.06  # hinted glyphs are wider than their outlines
WHITE = '<rect width="100%" height="100%" fill="#ffffff"/>'
Draw = Callable[[], Figure]
Points: TypeAlias = Sequence[tuple[float, float]]


def new_figure(width_inches: float, height_inches: float) -> Figure:
    """Return an empty figure; the functions of this file call the drawing and save it."""
    from matplotlib.figure import Figure as MatplotlibFigure

    return MatplotlibFigure(figsize=(width_inches, height_inches))


def svg_text(draw: Draw) -> str:
    """Return the drawing as an SVG element for embedding, without prologue or background."""
    text = _saved(draw, "svg").decode()
    return text[text.index("<svg") :].strip()


def svg_document(element: str) -> str:
    """Return an SVG element as a file on a white background, so that its text is legible on a dark page."""
    head, closing, rest = element.partition(">")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}{closing}\n {WHITE}{rest}\n'


def pdf_bytes(draw: Draw) -> bytes:
    """Return the drawing as a PDF page on white with an embedded font."""
    return _saved(draw, "pdf", facecolor="white")


def png_bytes(draw: Draw, dots_per_inch: int = DOTS_PER_INCH) -> bytes:
    """Return the drawing as a PNG on white, for pages without SVG."""
    return _saved(draw, "png", facecolor="white", dpi=dots_per_inch)


def series_style(position: int) -> dict[str, Any]:
    """Return the colour, marker and line style of a series; they repeat after the eighth."""
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": LINE_STYLES[position % len(LINE_STYLES)],
    }


def draw_sample(axes: Any, position: int, ends: tuple[float, float], height: float) -> None:
    """Draw a legend sample of a series; ends and height are in shares of the axes."""
    style = series_style(position)
    outside = {"transform": axes.transAxes, "color": style["color"], "clip_on": False}
    axes.plot(ends, [height, height], linestyle=style["linestyle"], linewidth=1.5, **outside)
    axes.plot([sum(ends) / 2], [height], marker=style["marker"], markersize=4.5, **outside)


def add_lines(axes: Any, lines: Sequence[Points], **style: Any) -> None:
    """Draw many lines as one artist, and leave the limits of the axes as they are; much faster than `axes.plot`.

    A value of `style` may be a list, with a value for each line.
    """
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(lines, capstyle="projecting", **style), autolim=False)


def opacity(lines: int) -> float:
    """Return the opacity of each of so many lines, lower where there are so many that they would hide each other."""
    return min(0.7, max(0.1, 70 / max(1, lines)))


def text_inches(texts: Iterable[str], points: float) -> float:
    """Return the width in inches of the widest text in the figures' font; 0 without texts."""
    with _style():
        widths = [_width(text, points) for text in texts if text.strip()]
    return HINTED * max(widths, default=0.0) / POINTS_PER_INCH


@cache
def _width(text: str, points: float) -> float:
    """Return the width of the outlines' control points: the font's have one at each extreme of a curve."""
    from matplotlib.textpath import TextPath

    outline = TextPath((0, 0), text, size=points)
    x = outline.vertices[:, 0][(outline.codes != outline.STOP) & (outline.codes != outline.CLOSEPOLY)]
    return float(x.max() - x.min()) if x.size else 0.0


def spread(shares: Sequence[float], gap: float) -> list[float]:
    """Return increasing positions at least a gap apart: moved up as little as needed, then shifted to end at 1."""
    placed: list[float] = []
    for share in shares:
        placed.append(max(share, placed[-1] + gap) if placed else share)
    overshoot = max(0.0, (placed[-1] if placed else 0.0) - 1.0)
    return [share - overshoot for share in placed]


def _saved(draw: Draw, file_format: str, **settings: Any) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    with _style():
        figure = draw()
        FigureCanvasAgg(figure)
        figure.savefig(buffer, format=file_format, metadata=NO_METADATA[file_format], **settings)
    return buffer.getvalue()


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context({**mpl.rcParamsDefault, **SETTINGS, "backend": "agg"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the viewer's own fonts draw the glyph
        yield
