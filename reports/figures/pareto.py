"""What a result costs: the candidates that no other one beats on both the result and a cost. Pareto's front."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from configuration.arm import BASELINE
from configuration.metrics import HELD_OUT_LOSS, SCORE
from configuration.stage_label import PRETRAIN
from foundation.schema import JsonValue
from ledger.records import ArmRow
from reports.number_format import fixed, short
from reports.results import Results
from reports.sanitise import printable
from reports.sections.grids import Column, Grid, grid
from reports.sections.table import Row, Table, table
from reports.statistics.metrics import Metric

COSTS = ("parameters", "forward_flops", "train_flops")
TITLES = {
    "parameters": "parameters",
    "forward_flops": "forward FLOPs",
    "train_flops": "train FLOPs",
    "seconds": "seconds",
}
LOSS_DECIMALS, SCORE_DECIMALS = 4, 1
FEWEST_ARMS = 3


@dataclass(frozen=True)
class Spot:
    """One candidate on a result and a cost."""

    arm: str
    cost: float
    value: float
    front: bool
    spread: float | None = None
    """The sample's standard deviation over seeds."""


@dataclass(frozen=True)
class Trade:
    """Everyone on one cost."""

    cost: str
    metric: Metric
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class Pareto:
    """The results against each cost that tells candidates apart."""

    trades: tuple[Trade, ...]


def front(points: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Return the places of the points that no other point equals or beats everywhere and beats somewhere.

    Smaller is better on every axis. Of equal points all are on the front or none.
    """

    def dominated(mine: Sequence[float]) -> bool:
        return any(
            all(a <= b for a, b in zip(its, mine, strict=True)) and tuple(its) != tuple(mine) for its in points
        )

    return tuple(place for place, point in enumerate(points) if not dominated(point))


def pareto_of(results: Results) -> Pareto | None:
    """Return the trades on the search's first objective, None where fewer than two candidates were measured."""
    metric = Metric(_objectives(results)[0])
    measured = [(arm, mean) for arm in results.arms if (mean := _mean(results, arm, metric)) is not None]
    if len(measured) < 2:
        return None
    trades = []
    for cost in (*COSTS, *(["seconds"] if "seconds" in _objectives(results) else [])):
        prices = {arm.name: _price(results, arm, cost) for arm, _ in measured}
        sign = 1.0 if metric.lower_is_better else -1.0
        best = front([(sign * value, prices[arm.name]) for arm, value in measured])
        spots = (
            Spot(printable(arm.name), prices[arm.name], value, place in best)
            for place, (arm, value) in enumerate(measured)
        )
        if len(set(prices.values())) > 1:
            trades.append(Trade(cost, metric, tuple(spots)))
    return Pareto(tuple(trades)) if trades else None


def table_pareto_of(results: Results) -> Pareto | None:
    """Return a table's headline metrics against training FLOPs, None for fewer than three measured arms."""
    trades = []
    for metric in results.headlines:
        effects = [(arm, results.effect(arm.name, metric)) for arm in results.arms]
        measured = [(arm, effect.mean, effect.sd) for arm, effect in effects if effect.mean is not None]
        if len(measured) < FEWEST_ARMS or len({arm.train_flops for arm, _, _ in measured}) < 2:
            continue
        sign = 1.0 if metric.lower_is_better else -1.0
        best = front([(sign * mean, arm.train_flops) for arm, mean, _ in measured])
        spots = (
            Spot(printable(arm.name), float(arm.train_flops), mean, place in best, sd)
            for place, (arm, mean, sd) in enumerate(measured)
        )
        trades.append(Trade("train_flops", metric, tuple(spots)))
    return Pareto(tuple(trades)) if trades else None


def pareto_table(pareto: Pareto | None) -> Table:
    """Return a row per candidate and cost, the cheapest first."""
    return table("pareto", "cost price arm metric value front", _rows(pareto))


def _rows(pareto: Pareto | None) -> Iterator[Row]:
    for trade in pareto.trades if pareto else ():
        for spot in sorted(trade.spots, key=lambda spot: (spot.cost, spot.value, spot.arm)):
            yield {
                "cost": trade.cost,
                "price": spot.cost,
                "arm": spot.arm,
                "metric": trade.metric.name,
                "value": spot.value,
                "front": spot.front,
            }


def pareto_grid(rows: Table) -> Iterator[Grid]:
    """Yield the front of each cost; those behind it are in the table and in the figure."""

    def cells(row: Row) -> list[str]:
        price, value = row["price"], row["value"]
        assert isinstance(price, float)
        assert isinstance(value, float)
        decimals = LOSS_DECIMALS if row["metric"] == HELD_OUT_LOSS else SCORE_DECIMALS
        return [TITLES[str(row["cost"])], short(round(price)), str(row["arm"]), fixed(value, decimals)]

    columns = [Column("cost", numeric=False), Column("price"), Column("candidate", numeric=False)]
    columns.append(Column(Metric(str(rows.rows[0]["metric"])).title))
    on_front = (row for row in rows.rows if row["front"])
    yield grid(rows.name, "The Pareto front: nobody is better for less", columns, map(cells, on_front))


def _objectives(results: Results) -> list[str]:
    design = results.snapshot.document.get("design")
    named: JsonValue = design.get("objectives") if isinstance(design, Mapping) else None
    return [str(name) for name in named] if isinstance(named, list) and named else [HELD_OUT_LOSS]


def _mean(results: Results, arm: ArmRow, metric: Metric) -> float | None:
    """Return an arm's mean at the baseline's seeds: at those that both have, moved as the baseline moves.

    Another arm's seeds may be others, and a difference between seeds would pass for one between arms. The mean of all
    arms takes the place of a baseline that was not measured; None where an arm shares no seed with it.
    """
    if metric.name == SCORE and metric not in results.metrics:
        return None
    measured = {name: of_arm.get(metric.name, {}) for name, of_arm in results.values.items()}
    mine, base = measured.get(arm.name, {}), measured.get(BASELINE) or _field(measured.values())
    shared = sorted(mine.keys() & base.keys())
    if not shared:
        return None
    moved = 0.0 if len(shared) == len(base) else fmean(base.values()) - fmean(base[seed] for seed in shared)
    return fmean(mine[seed] for seed in shared) + moved


def _field(measured: Iterable[Mapping[int, float]]) -> dict[int, float]:
    by_seed: dict[int, list[float]] = {}
    for values in measured:
        for seed, value in values.items():
            by_seed.setdefault(seed, []).append(value)
    return {seed: fmean(values) for seed, values in by_seed.items()}


def _price(results: Results, arm: ArmRow, cost: str) -> float:
    """Return an arm's cost; seconds are those of pretraining, the mean over its trials."""
    prices = {"parameters": arm.parameters, "forward_flops": arm.forward_flops, "train_flops": arm.train_flops}
    if cost in prices:
        return float(prices[cost])
    trials = results.trials[arm.name]
    return fmean(sum(record.seconds for record in history.finished(PRETRAIN)) for history in trials)
