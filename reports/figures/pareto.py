"""The Pareto front, drawn: results against costs, those that nobody beats for less joined and named."""

from itertools import pairwise, product
from typing import Any

from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import COLOURS, INK, QUIET
from reports.number_format import scientific, short
from reports.statistics.pareto import TITLES, Pareto, Spot, Trade

WIDTH_INCHES, HEIGHT_INCHES = 7.4, 3.1
NARROW_INCHES, NARROW_PANEL_INCHES = 3.9, 2.9
NAMED_AT_MOST = 12

"""Of more, those on the front alone are named."""
LETTER_INCHES = 0.065


def draw_narrow(pareto: Pareto) -> Figure:
    """Return one panel per cost or metric, one above the other."""
    height = NARROW_PANEL_INCHES * len(pareto.trades)
    figure = new_figure(NARROW_INCHES, height)
    panels = figure.subplots(len(pareto.trades), 1, squeeze=False)[:, 0]
    figure.subplots_adjust(left=0.13, right=0.96, bottom=0.48 / height, top=1 - 0.48 / height, hspace=0.5)
    for axes, trade in zip(panels, pareto.trades, strict=True):
        _draw_trade(axes, trade)
        axes.set_title(_title(trade).replace(" (", "\n("))
    return figure


def draw(pareto: Pareto) -> Figure:
    """Return one panel per cost or metric, side by side."""
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    several = len({trade.metric for trade in pareto.trades}) > 1
    panels = figure.subplots(1, len(pareto.trades), sharey=not several, squeeze=False)[0]
    figure.subplots_adjust(left=0.085, right=0.965, bottom=0.17, top=0.88, wspace=0.24 if several else 0.12)
    for position, (axes, trade) in enumerate(zip(panels, pareto.trades, strict=True)):
        _draw_trade(axes, trade)
        if several or position == 0:
            axes.set_title(_title(trade))
    return figure


def _title(trade: Trade) -> str:
    better = "lower" if trade.metric.lower_is_better else "higher"
    spread = ", ± sd over seeds" if any(spot.spread is not None for spot in trade.spots) else ""
    return f"{trade.metric.title}{spread} ({better} is better)"


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
    _name(axes, sorted(named, key=lambda spot: (not spot.front, spot.cost, spot.value)), best)
    axes.set_xlabel(TITLES[trade.cost])
    exact = scientific if max(spot.cost for spot in trade.spots) >= 1e13 else short
    axes.xaxis.set_major_formatter(lambda cost, _: exact(round(cost)))
    axes.locator_params(axis="x", nbins=4)


def _name(axes: Any, spots: list[Spot], best: list[Spot]) -> None:
    """Write each name beside its spot where it covers nothing; one that finds no such place is left out."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    letter = LETTER_INCHES / (axes.get_position().width * axes.figure.get_figwidth())

    def place(spot: Spot) -> tuple[float, float]:
        return (spot.cost - left) / (right - left), (spot.value - low) / (high - low)

    taken: list[tuple[float, ...]] = [(x - 0.012, x + 0.012, y - 0.02, y + 0.02) for x, y in map(place, spots)]
    for (x, y), (after, below) in pairwise(map(place, best)):
        taken += [(x, after, y - 0.004, y + 0.004), (after - 0.004, after + 0.004, *sorted((y, below)))]
    for spot in spots:
        x, y = place(spot)
        width = letter * len(spot.arm)
        for side, rise in product((1, -1), (0.02, -0.075, 0.065, -0.12)):
            start, end = sorted((x + side * 0.015, x + side * (0.015 + width)))
            box = (start, end, y + rise, y + rise + 0.05)
            if start >= 0 and end <= 1 and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                look = {"color": INK if spot.front else QUIET, "fontsize": 7.5, "va": "bottom"}
                axes.text(start, y + rise, spot.arm, ha="left", transform=axes.transAxes, **look)
                break
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
