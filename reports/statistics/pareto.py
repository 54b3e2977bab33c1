"""Pareto fronts of result against cost: the candidates that no other candidate dominates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from reports.sanitise import printable
from reports.statistics.arm_costs import costs_of
from reports.statistics.metrics import Metric, in_place_of_score
from reports.statistics.results import Results
from reports.table import Row, Table, table
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.configuration.stage_label import PRETRAIN, UNPRUNED
from steeplechase.ledger.records import ArmRow

COSTS = ("parameters", "forward_flops", "train_flops")
COST_TITLES = {
    "parameters": "parameters",
    "forward_flops": "forward FLOPs",
    "train_flops": "train FLOPs",
    "seconds": "seconds",
}
FEWEST_ARMS = 3


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


def front(points: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Return the indices of the non-dominated points; smaller is better on every axis.

    A point is dominated if another one is at least as good on every axis and better on one. What dominates a point
    comes before it in sorted order, and is on the front or dominated by a point of it.
    """
    found: list[tuple[float, ...]] = []
    for point in sorted({tuple(point) for point in points}):
        if not any(all(a <= b for a, b in zip(rival, point, strict=True)) for rival in found):
            found.append(point)
    on_front = set(found)
    return tuple(index for index, point in enumerate(points) if tuple(point) in on_front)


def pareto_of(results: Results) -> Pareto | None:
    """Return the results against their costs: the first objective of a search, the headline metrics of a table."""
    return search_pareto_of(results) if results.is_search else table_pareto_of(results)


def search_pareto_of(results: Results) -> Pareto | None:
    """Return the trade-offs on the search's first objective; None with fewer than two measured candidates."""
    metric = Metric(in_place_of_score(_objectives(results)[0], results.tasks))
    if metric.name in results.below_reference or (metric.name == SCORE and metric not in results.metrics):
        return None
    by_arm = {name: by_metric.get(metric.name, {}) for name, by_metric in results.values.items()}
    measured = [(arm, mean) for arm in results.arms if (mean := adjusted_mean(by_arm, arm.name)) is not None]
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
    return table("pareto", "cost price arm metric value front", _rows(pareto))


def _rows(pareto: Pareto | None) -> Iterator[Row]:
    for trade in pareto.trade_offs if pareto else ():
        for point in sorted(trade.points, key=lambda point: (point.cost, point.value, point.arm)):
            yield {
                "cost": trade.cost,
                "price": point.cost,
                "arm": point.arm,
                "metric": trade.metric.name,
                "value": point.value,
                "front": point.front,
            }


def _objectives(results: Results) -> tuple[str, ...]:
    search = results.experiment.search
    return (HELD_OUT_LOSS,) if search is None else search.objectives


def adjusted_mean(measured: Mapping[str, Mapping[int, float]], arm: str) -> float | None:
    """Return an arm's mean adjusted to the baseline's seeds: mean over shared seeds plus the baseline's shift there.

    The adjustment removes effects of the seed if arms have different seeds. Without a measured baseline the mean of
    all arms replaces it. None if the arm shares no seed with the reference.
    """
    values, reference = measured.get(arm, {}), measured.get(BASELINE) or _mean_by_seed(measured.values())
    shared = sorted(values.keys() & reference.keys())
    if not shared:
        return None
    shift = (
        0.0
        if len(shared) == len(reference)
        else fmean(reference.values()) - fmean(reference[seed] for seed in shared)
    )
    return fmean(values[seed] for seed in shared) + shift


def _mean_by_seed(measured: Iterable[Mapping[int, float]]) -> dict[int, float]:
    by_seed: dict[int, list[float]] = {}
    for values in measured:
        for seed, value in values.items():
            by_seed.setdefault(seed, []).append(value)
    return {seed: fmean(values) for seed, values in by_seed.items()}


def price_of(results: Results, arm: ArmRow, cost: str) -> float:
    """Return an arm's cost; seconds are the mean pretraining time of its trials."""
    if cost in COSTS:
        return float(getattr(costs_of(results, arm), cost))
    phases = [(h.finished(UNPRUNED), h.finished(PRETRAIN)) for h in results.trials[arm.name]]
    return fmean(sum(record.seconds for phase in of_trial for record in phase) for of_trial in phases)
