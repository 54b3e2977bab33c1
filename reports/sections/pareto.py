"""Pareto fronts of result against cost: the candidates that no other candidate dominates."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from reports.columns import number_text
from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import COLOURS, INK, QUIET
from reports.grid import Column, shown, words
from reports.number_format import scientific, short
from reports.sanitise import printable
from reports.section import Content, Section
from reports.statistics.arm_costs import COST_TITLES, COSTS, costs_of, price_of
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric, in_place_of_score
from reports.statistics.objectives import adjusted_mean, may_rank
from reports.statistics.results import Results
from reports.table import Row, Table, number
from steeplechase.analysis.pareto_front import front
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE

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


@dataclass(frozen=True)
class Pareto:
    """The results against each cost in which candidates differ."""

    trade_offs: tuple[TradeOff, ...]


def pareto_of(results: Results) -> Pareto | None:
    """Return the results against their costs: the first objective of a search, the headline metrics of a table."""
    return search_pareto_of(results) if results.is_search else table_pareto_of(results)


def search_pareto_of(results: Results) -> Pareto | None:
    """Return the trade-offs on the search's first objective; None with fewer than two measured candidates."""
    metric = Metric(in_place_of_score(_objectives(results)[0], results.tasks))
    if metric.name in results.below_reference or (metric.name == SCORE and metric not in results.metrics):
        return None
    by_arm = {name: by_metric.get(metric.name, {}) for name, by_metric in results.values.items()}
    ranked = [arm for arm in results.arms if may_rank(results, arm.name)]
    measured = [(arm, mean) for arm in ranked if (mean := adjusted_mean(by_arm, arm.name)) is not None]
    if len(measured) < 2:
        return None
    trade_offs = []
    for cost in (*COSTS, *(["seconds"] if "seconds" in _objectives(results) else [])):
        prices = {arm.name: price_of(results, arm, cost) for arm, _ in measured}
        sign = 1.0 if metric.lower_is_better else -1.0
        front_indices = front([(sign * value, prices[arm.name]) for arm, value in measured])
        points = (
            ParetoPoint(printable(arm.name), prices[arm.name], value, index in front_indices)
            for index, (arm, value) in enumerate(measured)
        )
        if len(set(prices.values())) > 1:
            trade_offs.append(TradeOff(cost, metric, tuple(points)))
    return Pareto(tuple(trade_offs)) if trade_offs else None


def table_pareto_of(results: Results) -> Pareto | None:
    """Return a table's headline metrics against training FLOPs, None for fewer than three measured arms."""
    trade_offs = []
    for metric in results.headlines:
        effects = [(arm, results.effect(arm.name, metric)) for arm in results.arms]
        measured = [(arm, effect.mean, effect.sd) for arm, effect in effects if effect.mean is not None]
        prices = {arm.name: costs_of(results, arm).train_flops for arm, _, _ in measured}
        if len(measured) < FEWEST_ARMS or len({*prices.values()}) < 2:
            continue
        sign = 1.0 if metric.lower_is_better else -1.0
        front_indices = front([(sign * mean, prices[arm.name]) for arm, mean, _ in measured])
        points = (
            ParetoPoint(printable(arm.name), float(prices[arm.name]), mean, index in front_indices, sd)
            for index, (arm, mean, sd) in enumerate(measured)
        )
        trade_offs.append(TradeOff("train_flops", metric, tuple(points)))
    return Pareto(tuple(trade_offs)) if trade_offs else None


def pareto_table(pareto: Pareto | None) -> Table:
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
        for trade in (pareto.trade_offs if pareto else ())
        for point in sorted(trade.points, key=lambda point: (point.cost, point.value, point.arm))
    )
    return Table.of("pareto", rows)


def _objectives(results: Results) -> tuple[str, ...]:
    search = results.experiment.search
    return (HELD_OUT_LOSS,) if search is None else search.objectives


def _price(row: Row) -> str:
    return short(round(number(row["price"]) or 0.0))


def _value(row: Row) -> str:
    return number_text(row["value"], LOSS_DECIMALS if row["metric"] == HELD_OUT_LOSS else SCORE_DECIMALS)


def _content(evidence: Evidence) -> Content:
    points = pareto_table(evidence.results.once(pareto_of))
    columns = [words("cost", lambda row: COST_TITLES[str(row["cost"])]), Column("price", read=_price)]
    columns.append(words("candidate", "arm"))
    columns += [Column(Metric(str(row["metric"])).title, read=_value) for row in points.rows[:1]]
    on_front = (row for row in points.rows if row["front"])
    title = "Pareto front: no other candidate is better at the same cost or less"
    return Content(points.filled, shown("pareto", title, columns, on_front))


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


FIGURE = ReportFigure[Evidence, Pareto](
    "pareto",
    lambda pareto: "Results against costs",
    lambda evidence: evidence.results.once(pareto_of),
    pareto_table,
    draw,
)
SECTION = Section("pareto", _content, lambda evidence: evidence.results.is_search, figure=FIGURE)
