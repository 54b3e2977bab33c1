"""Pareto fronts of result against cost: the candidates that no other candidate dominates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, new_figure, opacity
from reports.figures.style import COLOURS, INK, QUIET
from reports.number_format import scientific, short
from reports.section import Content, Section, decimal, known
from reports.statistics.arm_costs import COST_TITLES, COSTS, price_of
from reports.statistics.metrics import Metric, in_place_of_score
from reports.statistics.objectives import adjusted_mean, may_rank
from reports.statistics.results import Results
from reports.table import Column, Row, Table, printable, shown, words
from steeplechase.analysis.pareto_front import front
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.ledger.records import ArmRow

FEWEST_ARMS = 3
LOSS_DECIMALS, SCORE_DECIMALS = 4, 1
WIDTH_INCHES, HEIGHT_INCHES = 7.4, 3.1
NAMED_AT_MOST = 12
"""With more arms only those on the front are labelled."""
LETTER_INCHES = 0.065


@dataclass(frozen=True)
class ParetoPoint:
    """One candidate with its cost and value."""

    arm: str
    cost: float
    value: float
    front: bool
    spread: float | None = None
    """Standard deviation over seeds."""


@dataclass(frozen=True)
class TradeOff:
    """All candidates on one metric and one cost."""

    cost: str
    metric: Metric
    points: tuple[ParetoPoint, ...]


def trade_offs(results: Results) -> tuple[TradeOff, ...]:
    """Return the results against their costs: the first objective of a search, the headline metrics of a table.

    Costs in which the arms do not differ are left out; none with fewer than two measured candidates or three arms.
    """
    found = _of_search(results) if results.is_search else _of_table(results)
    return tuple(trade for trade in found if len({point.cost for point in trade.points}) > 1)


def _of_search(results: Results) -> Iterator[TradeOff]:
    search = results.experiment.search
    objectives = (HELD_OUT_LOSS,) if search is None else search.objectives
    metric = Metric(in_place_of_score(objectives[0], results.tasks))
    if metric.name in results.below_reference or (metric.name == SCORE and metric not in results.metrics):
        return
    by_arm = {name: by_metric.get(metric.name, {}) for name, by_metric in results.values.items()}
    ranked = [arm for arm in results.arms if may_rank(results, arm.name)]
    measured = [(arm, mean, None) for arm in ranked if (mean := adjusted_mean(by_arm, arm.name)) is not None]
    for cost in (*COSTS, *(["seconds"] if "seconds" in objectives else [])) if len(measured) > 1 else ():
        yield _trade_off(results, cost, metric, measured)


def _of_table(results: Results) -> Iterator[TradeOff]:
    for metric in results.headlines:
        effects = [(arm, results.effect(arm.name, metric)) for arm in results.arms]
        measured = [(arm, effect.mean, effect.sd) for arm, effect in effects if effect.mean is not None]
        if len(measured) >= FEWEST_ARMS:
            yield _trade_off(results, "train_flops", metric, measured)


def _trade_off(
    results: Results, cost: str, metric: Metric, measured: Sequence[tuple[ArmRow, float, float | None]]
) -> TradeOff:
    """Return the arms on one cost, each with its mean and its standard deviation over seeds."""
    sign, prices = 1.0 if metric.lower_is_better else -1.0, [price_of(results, arm, cost) for arm, _, _ in measured]
    on_front = front([(sign * mean, price) for (_, mean, _), price in zip(measured, prices, strict=True)])
    points = (
        ParetoPoint(printable(arm.name), price, mean, place in on_front, spread)
        for place, ((arm, mean, spread), price) in enumerate(zip(measured, prices, strict=True))
    )
    return TradeOff(cost, metric, tuple(points))


def pareto_table(trades: Sequence[TradeOff]) -> Table:
    """Return a row per candidate and cost, the cheapest first."""
    rows: Iterator[Row] = (
        {
            "cost": trade.cost,
            "price": point.cost,
            "arm": point.arm,
            "metric": trade.metric.name,
            "value": point.value,
            "front": point.front,
        }
        for trade in trades
        for point in sorted(trade.points, key=lambda point: (point.cost, point.value, point.arm))
    )
    return Table.of("pareto", rows)


def _content(results: Results) -> Content:
    points = pareto_table(results.once(trade_offs))
    columns = [
        words("cost", lambda row: COST_TITLES[str(row["cost"])]),
        Column("price", read=lambda row: known(row["price"], lambda price: short(round(price)))),
        words("candidate", "arm"),
    ]
    for metric in (str(row["metric"]) for row in points.rows[:1]):
        decimals = LOSS_DECIMALS if metric == HELD_OUT_LOSS else SCORE_DECIMALS
        columns.append(Column(Metric(metric).title, read=decimal("value", decimals)))
    on_front = (row for row in points.rows if row["front"])
    title = "Pareto front: no other candidate is better at the same cost or less"
    return Content(points.filled, shown("pareto", title, columns, on_front))


def draw(trades: Sequence[TradeOff]) -> Figure:
    """Return one panel per cost or metric, side by side."""
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    several_metrics = len({trade.metric for trade in trades}) > 1
    panels = figure.subplots(1, len(trades), sharey=not several_metrics, squeeze=False)[0]
    figure.subplots_adjust(left=0.085, right=0.965, bottom=0.17, top=0.88, wspace=0.24 if several_metrics else 0.12)
    for position, (axes, trade) in enumerate(zip(panels, trades, strict=True)):
        _draw_trade(axes, trade)
        if several_metrics or position == 0:
            better = "lower" if trade.metric.lower_is_better else "higher"
            spread = ", ± sd over seeds" if any(point.spread is not None for point in trade.points) else ""
            axes.set_title(f"{trade.metric.title}{spread} ({better} is better)")
    return figure


def _draw_trade(axes: Any, trade: TradeOff) -> None:
    dominated = [point for point in trade.points if not point.front]
    front = sorted((point for point in trade.points if point.front), key=lambda point: (point.cost, point.value))
    for point in trade.points:
        if point.spread is not None:
            reach = [point.value - point.spread, point.value + point.spread]
            axes.plot([point.cost] * 2, reach, color=COLOURS[1] if point.front else QUIET, linewidth=1)
    behind = {"color": QUIET, "alpha": opacity(len(dominated))}
    axes.plot([s.cost for s in dominated], [s.value for s in dominated], "o", **behind)
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


FIGURE = ReportFigure(
    "pareto", lambda _: "Results against costs", lambda results: results.once(trade_offs) or None, pareto_table, draw
)
SECTION = Section("pareto", _content, lambda results: results.is_search, figure=FIGURE)
