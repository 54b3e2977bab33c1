"""Figure of Pareto fronts: results against costs, with the non-dominated arms joined and labelled."""

from itertools import pairwise, product
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import COLOURS, INK, QUIET
from reports.number_format import scientific, short
from reports.statistics.evidence import Evidence
from reports.statistics.pareto import COST_TITLES, Pareto, ParetoPoint, TradeOff, pareto_table

WIDTH_INCHES, HEIGHT_INCHES = 7.4, 3.1
NARROW_INCHES, NARROW_PANEL_INCHES = 3.9, 2.9
NAMED_AT_MOST = 12
"""With more arms only those on the front are labelled."""
LETTER_INCHES = 0.065


def draw_narrow(pareto: Pareto) -> Figure:
    """Return one panel per cost or metric as one column."""
    height = NARROW_PANEL_INCHES * len(pareto.trade_offs)
    figure = new_figure(NARROW_INCHES, height)
    panels = figure.subplots(len(pareto.trade_offs), 1, squeeze=False)[:, 0]
    figure.subplots_adjust(left=0.13, right=0.96, bottom=0.48 / height, top=1 - 0.48 / height, hspace=0.5)
    for axes, trade in zip(panels, pareto.trade_offs, strict=True):
        _draw_trade(axes, trade)
        axes.set_title(_title(trade).replace(" (", "\n("))
    return figure


def draw(pareto: Pareto) -> Figure:
    """Return one panel per cost or metric, side by side."""
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    several_metrics = len({trade.metric for trade in pareto.trade_offs}) > 1
    panels = figure.subplots(1, len(pareto.trade_offs), sharey=not several_metrics, squeeze=False)[0]
    figure.subplots_adjust(left=0.085, right=0.965, bottom=0.17, top=0.88, wspace=0.24 if several_metrics else 0.12)
    for position, (axes, trade) in enumerate(zip(panels, pareto.trade_offs, strict=True)):
        _draw_trade(axes, trade)
        if several_metrics or position == 0:
            axes.set_title(_title(trade))
    return figure


def _title(trade: TradeOff) -> str:
    better = "lower" if trade.metric.lower_is_better else "higher"
    spread = ", ± sd over seeds" if any(point.spread is not None for point in trade.points) else ""
    return f"{trade.metric.title}{spread} ({better} is better)"


def _draw_trade(axes: Any, trade: TradeOff) -> None:
    dominated = [point for point in trade.points if not point.front]
    front = sorted((point for point in trade.points if point.front), key=lambda point: (point.cost, point.value))
    for point in trade.points:
        if point.spread is not None:
            reach = [point.value - point.spread, point.value + point.spread]
            axes.plot([point.cost] * 2, reach, color=COLOURS[1] if point.front else QUIET, linewidth=1)
    axes.plot([s.cost for s in dominated], [s.value for s in dominated], "o", color=QUIET, alpha=0.7)
    axes.step([s.cost for s in front], [s.value for s in front], where="post", color=COLOURS[1], linewidth=1.2)
    axes.plot([s.cost for s in front], [s.value for s in front], "s", color=COLOURS[1])
    axes.margins(x=0.14, y=0.16)
    labelled = trade.points if len(trade.points) <= NAMED_AT_MOST else front
    _name(axes, sorted(labelled, key=lambda point: (not point.front, point.cost, point.value)), front)
    axes.set_xlabel(COST_TITLES[trade.cost])
    exact = scientific if max(point.cost for point in trade.points) >= 1e13 else short
    axes.xaxis.set_major_formatter(lambda cost, _: exact(round(cost)))
    axes.locator_params(axis="x", nbins=4)


def _name(axes: Any, points: list[ParetoPoint], front: list[ParetoPoint]) -> None:
    """Write each name beside its point without overlaps; names without free space are left out."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    letter = LETTER_INCHES / (axes.get_position().width * axes.figure.get_figwidth())

    def position(point: ParetoPoint) -> tuple[float, float]:
        return (point.cost - left) / (right - left), (point.value - low) / (high - low)

    occupied: list[tuple[float, ...]] = [(x - 0.012, x + 0.012, y - 0.02, y + 0.02) for x, y in map(position, points)]
    for (x, y), (after, below) in pairwise(map(position, front)):
        occupied += [(x, after, y - 0.004, y + 0.004), (after - 0.004, after + 0.004, *sorted((y, below)))]
    for point in points:
        x, y = position(point)
        width = letter * len(point.arm)
        for direction, rise in product((1, -1), (0.02, -0.075, 0.065, -0.12)):
            start, end = sorted((x + direction * 0.015, x + direction * (0.015 + width)))
            box = (start, end, y + rise, y + rise + 0.05)
            if start >= 0 and end <= 1 and not any(_overlap(box, other_box) for other_box in occupied):
                occupied.append(box)
                style = {"color": INK if point.front else QUIET, "fontsize": 7.5, "va": "bottom"}
                axes.text(start, y + rise, point.arm, ha="left", transform=axes.transAxes, **style)
                break
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)


def _overlap(box: tuple[float, ...], other: tuple[float, ...]) -> bool:
    across = box[0] < other[1] and other[0] < box[1]
    return across and box[2] < other[3] and other[2] < box[3]


def _of_evidence(evidence: Evidence) -> Pareto | None:
    return evidence.pareto


FIGURE = ReportFigure("pareto", lambda pareto: "Results against costs", _of_evidence, pareto_table, draw, draw_narrow)
