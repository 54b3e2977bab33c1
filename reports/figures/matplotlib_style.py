"""The one door to matplotlib: figures in the one style, written as SVG, PDF or PNG.

matplotlib is imported when something is drawn, so that a report without figures does not wait for it. Drawing is
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
HINTED = 1.06  # letters fitted to a screen's dots are wider than their outlines
WHITE = '<rect width="100%" height="100%" fill="#ffffff"/>'
Draw = Callable[[], Figure]


def new_figure(width_inches: float, height_inches: float) -> Figure:
    """Return an empty figure; drawing into it happens inside the functions of this file."""
    from matplotlib.figure import Figure as MatplotlibFigure

    return MatplotlibFigure(figsize=(width_inches, height_inches))


def svg_text(draw: Draw) -> str:
    """Return the picture as an SVG element without prologue or ground, ready to be part of a page."""
    text = _saved(draw, "svg").decode()
    return text[text.index("<svg") :].strip()


def svg_document(element: str) -> str:
    """Return an SVG element as a file of its own, on white: a dark page would swallow its text."""
    head, closing, rest = element.partition(">")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}{closing}\n {WHITE}{rest}\n'


def pdf_bytes(draw: Draw) -> bytes:
    """Return the picture as a PDF page on white, its letters kept as outlines of one font that is inside."""
    return _saved(draw, "pdf", facecolor="white")


def png_bytes(draw: Draw, dots_per_inch: int = DOTS_PER_INCH) -> bytes:
    """Return the picture as a PNG on white, for pages that show no SVG."""
    return _saved(draw, "png", facecolor="white", dpi=dots_per_inch)


def look(position: int) -> dict[str, Any]:
    """Return the colour, marker and line style of one of a figure's series; they repeat after the eighth."""
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": LINE_STYLES[position % len(LINE_STYLES)],
    }


def draw_sample(axes: Any, position: int, ends: tuple[float, float], height: float) -> None:
    """Draw a short piece of a series as it is in the plot, beside its name; ends and height in shares of the axes."""
    style = look(position)
    outside = {"transform": axes.transAxes, "color": style["color"], "clip_on": False}
    axes.plot(ends, [height, height], linestyle=style["linestyle"], linewidth=1.5, **outside)
    axes.plot([sum(ends) / 2], [height], marker=style["marker"], markersize=4.5, **outside)


def text_inches(texts: Iterable[str], points: float) -> float:
    """Return how wide the widest of some texts is in the figures' font; 0 where there are none."""
    widths = [_width(text, points) for text in texts if text.strip()]
    return HINTED * max(widths, default=0.0) / POINTS_PER_INCH


@cache
def _width(text: str, points: float) -> float:
    from matplotlib.textpath import TextPath

    with _style():
        return float(TextPath((0, 0), text, size=points).get_extents().width)


def spread(shares: Sequence[float], gap: float) -> list[float]:
    """Return rising positions at least a gap apart, moved up no further than that needs, then back inside 1."""
    placed: list[float] = []
    for share in shares:
        placed.append(max(share, placed[-1] + gap) if placed else share)
    overshoot = max(0.0, (placed[-1] if placed else 0.0) - 1.0)
    return [share - overshoot for share in placed]


def _saved(draw: Draw, form: str, **settings: Any) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    with _style():
        figure = draw()
        FigureCanvasAgg(figure)
        figure.savefig(buffer, format=form, metadata=NO_METADATA[form], **settings)
    return buffer.getvalue()


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context({**mpl.rcParamsDefault, **SETTINGS, "backend": "agg"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the viewer's fonts have it or show a box
        yield
