"""The Pareto front, drawn: the result against each cost, those on the front joined and named."""

from typing import Any

from matplotlib.figure import Figure

from reports.numbers import short
from reports.pareto import TITLES, Pareto, Trade
from reports.style import COLOURS, INK, QUIET

WIDTH_INCHES, HEIGHT_INCHES = 7.4, 3.1


def draw_pareto(pareto: Pareto) -> Figure:
    """Return one panel per cost, side by side."""
    figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES))
    panels = figure.subplots(1, len(pareto.trades), sharey=True, squeeze=False)[0]
    for axes, trade in zip(panels, pareto.trades, strict=True):
        _draw_trade(axes, trade)
    metric = pareto.trades[0].metric
    better = "lower" if metric.lower_is_better else "higher"
    panels[0].set_title(f"{metric.title} against cost ({better} is better)")
    figure.subplots_adjust(left=0.085, right=0.98, bottom=0.17, top=0.87, wspace=0.12)
    return figure


def _draw_trade(axes: Any, trade: Trade) -> None:
    behind = [spot for spot in trade.spots if not spot.front]
    best = sorted((spot for spot in trade.spots if spot.front), key=lambda spot: (spot.cost, spot.value))
    axes.plot([s.cost for s in behind], [s.value for s in behind], "o", color=QUIET, alpha=0.7)
    axes.step([s.cost for s in best], [s.value for s in best], where="post", color=COLOURS[1], linewidth=1.2)
    axes.plot([s.cost for s in best], [s.value for s in best], "s", color=COLOURS[1])
    for spot in best:
        place = {"xytext": (3, 5), "textcoords": "offset points", "fontsize": 7.5, "color": INK}
        axes.annotate(spot.arm, (spot.cost, spot.value), **place)
    axes.set_xlabel(TITLES[trade.cost])
    axes.xaxis.set_major_formatter(lambda cost, _: short(round(cost)))
    axes.locator_params(axis="x", nbins=4)
    axes.margins(x=0.14, y=0.14)
