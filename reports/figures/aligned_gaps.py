"""The gap to the baseline in held-out loss by progress since each run left its plateau: tokens; rate integral."""

from collections.abc import Iterator, Sequence
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, draw_sample, new_figure, series_style, text_inches
from reports.figures.style import COLOURS, QUIET
from reports.number_format import short
from reports.sanitise import printable
from reports.statistics.aligned_gaps import RATE, TOKENS, GapCurve
from reports.statistics.evidence import Evidence
from reports.table import Row, Table, table

PANELS = ((TOKENS, "tokens since the plateau"), (RATE, "rate integral since, in peak-rate tokens"))
PANEL_INCHES, LEFT_INCHES, HEIGHT_INCHES, NAME_POINTS, NAME_INCHES = 2.9, 0.7, 3.3, 9, 0.21
SAMPLE_INCHES = 0.45
NARROW_INCHES, NARROW_PANEL_INCHES, NARROW_LABEL_INCHES = 3.9, 2.2, 0.55
TITLE, BASE = "Δ held-out loss (nats) to the baseline:", "mean over seeds"
ARMS_AT_MOST = len(COLOURS)


def curves_of(evidence: Evidence) -> tuple[GapCurve, ...] | None:
    """Return the curves of the first arms; None where there are none."""
    found = evidence.aligned_gaps
    if found is None or not found.curves:
        return None
    arms = list(dict.fromkeys(curve.arm for curve in found.curves))[:ARMS_AT_MOST]
    return tuple(curve for curve in found.curves if curve.arm in arms)


def curves_table(curves: Sequence[GapCurve]) -> Table:
    """Return the points of the curves."""
    return table("aligned_gaps_curve", "arm by n progress gap", _rows(curves))


def _rows(curves: Sequence[GapCurve]) -> Iterator[Row]:
    for curve in curves:
        for progress, gap in zip(curve.progress, curve.gaps, strict=True):
            yield {"arm": curve.arm, "by": curve.kind, "n": curve.n, "progress": round(progress), "gap": gap}


def draw(curves: Sequence[GapCurve]) -> Figure:
    """Return two panels with a line per arm, named at the right; the first style is the baseline's elsewhere."""
    arms = list(dict.fromkeys(curve.arm for curve in curves))
    names = SAMPLE_INCHES + 0.2 + text_inches(map(_named(curves), arms), NAME_POINTS)
    width = LEFT_INCHES + 2 * PANEL_INCHES + names
    figure = new_figure(width, HEIGHT_INCHES)
    shared: Any = None
    for place, (kind, label) in enumerate(PANELS):
        begin = (LEFT_INCHES + place * PANEL_INCHES) / width
        axes = figure.add_axes((begin, 0.15, (PANEL_INCHES - 0.25) / width, 0.72), sharey=shared)
        shared = shared or axes
        _draw_panel(axes, [curve for curve in curves if curve.kind == kind], arms, label)
        if place:
            axes.tick_params(axis="y", labelleft=False)
    shared.set_title(f"{TITLE} {BASE}")
    plot = PANEL_INCHES - 0.25
    for row, arm in enumerate(arms):
        height = 1 - (row + 0.5) * NAME_INCHES / (0.72 * HEIGHT_INCHES)
        draw_sample(axes, row + 1, (1 + 0.1 / plot, 1 + (0.1 + 0.3) / plot), height)
        _write_name(axes, row + 1, (1 + SAMPLE_INCHES / plot, height), _named(curves)(arm))
    return figure


def draw_narrow(curves: Sequence[GapCurve]) -> Figure:
    """Return the panels as one column, with the names below them."""
    arms = list(dict.fromkeys(curve.arm for curve in curves))
    names = NAME_INCHES * len(arms)
    height = 0.5 + len(PANELS) * (NARROW_PANEL_INCHES + NARROW_LABEL_INCHES) + names
    figure = new_figure(NARROW_INCHES, height)
    plot = NARROW_PANEL_INCHES
    for place, (kind, label) in enumerate(PANELS):
        begin = names + 0.05 + NARROW_LABEL_INCHES + (len(PANELS) - 1 - place) * (plot + NARROW_LABEL_INCHES)
        axes = figure.add_axes((0.14, begin / height, 0.79, plot / height))  # a tick at the end has its label whole
        _draw_panel(axes, [curve for curve in curves if curve.kind == kind], arms, label)
        if place == 0:
            axes.set_title(f"{TITLE}\n{BASE}")
    for row, arm in enumerate(arms):
        share = -(NARROW_LABEL_INCHES + (row + 0.5) * NAME_INCHES) / plot
        draw_sample(axes, row + 1, (0.0, 0.08), share)
        _write_name(axes, row + 1, (0.11, share), _named(curves)(arm))
    return figure


def _write_name(axes: Any, position: int, place: tuple[float, float], name: str) -> None:
    outside = {"transform": axes.transAxes, "color": series_style(position)["color"]}
    axes.text(*place, name, va="center", fontsize=NAME_POINTS, **outside)


def _draw_panel(axes: Any, curves: Sequence[GapCurve], arms: Sequence[str], label: str) -> None:
    axes.axhline(0, color=QUIET, linewidth=0.9, zorder=0)
    for curve in curves:
        every = max(1, len(curve.progress) // 6)
        axes.plot(curve.progress, curve.gaps, markevery=every, **series_style(arms.index(curve.arm) + 1))
    axes.set_xlabel(label)
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda tokens, _: short(round(tokens)))
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _named(curves: Sequence[GapCurve]) -> Any:
    counts = {curve.arm: curve.n for curve in curves}
    return lambda arm: f"{printable(arm)} (n = {counts[arm]})"


FIGURE = ReportFigure(
    "aligned_gaps_curve",
    lambda curves: "Gap to the baseline since the plateau",
    curves_of,
    curves_table,
    draw,
    draw_narrow,
)
