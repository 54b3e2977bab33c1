"""The Pareto front, drawn: results against costs, those that nobody beats for less joined and named."""

from typing import Any

from reports.drawing.door import Figure, new_figure
from reports.numbers import scientific, short
from reports.pareto import TITLES, Pareto, Spot, Trade
from reports.style import COLOURS, INK, QUIET

WIDTH_INCHES, HEIGHT_INCHES = 7.4, 3.1
NAMED_AT_MOST = 12
"""Of more, those on the front alone are named."""


def draw(pareto: Pareto) -> Figure:
    """Return one panel per cost or metric, side by side."""
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    several = len({trade.metric for trade in pareto.trades}) > 1
    panels = figure.subplots(1, len(pareto.trades), sharey=not several, squeeze=False)[0]
    for position, (axes, trade) in enumerate(zip(panels, pareto.trades, strict=True)):
        _draw_trade(axes, trade)
        if several or position == 0:
            better = "lower" if trade.metric.lower_is_better else "higher"
            axes.set_title(f"{trade.metric.title} against cost ({better} is better)")
    figure.subplots_adjust(left=0.085, right=0.98, bottom=0.17, top=0.88, wspace=0.24 if several else 0.12)
    return figure


def _draw_trade(axes: Any, trade: Trade) -> None:
    behind = [spot for spot in trade.spots if not spot.front]
    best = sorted((spot for spot in trade.spots if spot.front), key=lambda spot: (spot.cost, spot.value))
    for spot in trade.spots:
        if spot.spread is not None:
            reach = [spot.value - spot.spread, spot.value + spot.spread]
            axes.plot([spot.cost] * 2, reach, color=COLOURS[1] if spot.front else QUIET, linewidth=1)
    axes.plot([s.cost for s in behind], [s.value for s in behind], "o", color=QUIET, alpha=0.7)
    axes.step([s.cost for s in best], [s.value for s in best], where="post", color=COLOURS[1], linewidth=1.2)
    axes.plot([s.cost for s in best], [s.value for s in best], "s", color=COLOURS[1])
    axes.margins(x=0.14, y=0.16)
    named = trade.spots if len(trade.spots) <= NAMED_AT_MOST else best
    _name(axes, sorted(named, key=lambda spot: spot.value))
    axes.set_xlabel(TITLES[trade.cost])
    exact = scientific if max(spot.cost for spot in trade.spots) >= 1e13 else short
    axes.xaxis.set_major_formatter(lambda cost, _: exact(round(cost)))
    axes.locator_params(axis="x", nbins=4)


def _name(axes: Any, spots: list[Spot]) -> None:
    """Write each name beside its spot, on the side where there is room, and above a name that it would cover."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    taken: list[tuple[float, float, float]] = []
    for spot in spots:
        at, height = (spot.cost - left) / (right - left), (spot.value - low) / (high - low)
        width = 0.026 * len(spot.arm) if at < 0.6 else -0.026 * len(spot.arm)
        start, end = sorted((at, at + width))
        level = height + 0.02
        while any(start < e and s < end and abs(level - h) < 0.055 for s, e, h in taken):
            level += 0.01
        taken.append((start, end, level))
        side = {"ha": "left" if width > 0 else "right", "va": "bottom", "fontsize": 7.5}
        place = left + (at + (0.012 if width > 0 else -0.012)) * (right - left)
        axes.text(place, low + level * (high - low), spot.arm, color=INK if spot.front else QUIET, **side)
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
