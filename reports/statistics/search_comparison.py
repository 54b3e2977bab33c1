"""Several searches of one space side by side: what each found by what it spent, over search seeds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from steeplechase.analysis.difference import CONFIDENCE, Effect, MeanTest
from steeplechase.analysis.effects import effect
from steeplechase.analysis.paired import interval
from steeplechase.analysis.search_trace import SearchTrace, Training, hypervolume, seconds_of

SEVERAL = 2
COSTS_SHOWN = 8
"""Costs at which the tables have the lowest loss so far, at equal distances up to the least that a search spent."""
PRICES = {"loss_flops": "loss × FLOPs", "loss_seconds": "loss × seconds"}
"""The trade-offs of which hypervolumes are taken."""


@dataclass(frozen=True)
class ComparedSearch:
    """One search at its seeds."""

    name: str
    traces: tuple[SearchTrace, ...]
    """By seed, in increasing order."""
    source: str
    """Where its losses are from: results folders, or a table."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The search seeds."""
        return tuple(trace.seed for trace in self.traces)


@dataclass(frozen=True)
class BestByCost:
    """The lowest loss so far of one search at every cost at which it fell, from where all seeds have seen one."""

    name: str
    n: int
    """Number of search seeds."""
    costs: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float | None, ...]
    """Bounds of the 95% interval of the mean by Student's t; None for a single seed."""
    high: tuple[float | None, ...]


@dataclass(frozen=True)
class SearchComparison:
    """Searches of one space; differences are from the first one, paired by search seed where both have the same."""

    searches: tuple[ComparedSearch, ...]

    @property
    def reference(self) -> ComparedSearch:
        """The search that the others are compared with."""
        return self.searches[0]

    def effect(self, search: ComparedSearch, value: Callable[[SearchTrace], float | None]) -> Effect:
        """Return a value's mean over the seeds of a search, and its difference from the reference."""
        own, others = _by_seed(search, value), _by_seed(self.reference, value)
        if search is self.reference:
            return effect(own, None)
        return effect(own, others, test=seeds_test(search.seeds, self.reference.seeds))

    @cached_property
    def costs(self) -> tuple[float, ...]:
        """Costs on a grid, from the first at which every search has found something to the least that one spent."""
        traces = [trace for search in self.searches for trace in search.traces]
        last = min(trace.cost for trace in traces)
        return tuple(float(cost) for cost in np.linspace(0, last, COSTS_SHOWN + 1)[1:])

    @cached_property
    def best_by_cost(self) -> tuple[BestByCost, ...]:
        """The curve of every search."""
        return tuple(map(_best_by_cost, self.searches))

    def hypervolume(self, trace: SearchTrace, price: str) -> float | None:
        """Return the share of the box between the best and the worst of all searches that a search dominates.

        Of losses and prices of its candidates; None where a price was not measured.
        """
        points, every = _points(trace, price), self._every_point[price]
        if points is None or every is None or not points:
            return None
        low, high = (np.array(every).min(axis=0), np.array(every).max(axis=0))
        if not (high > low).all():
            return None
        return hypervolume((np.array(points) - low) / (high - low))

    @cached_property
    def _every_point(self) -> dict[str, list[tuple[float, float]] | None]:
        traces, found = [trace for search in self.searches for trace in search.traces], {}
        for price in PRICES:
            known = [points for trace in traces if (points := _points(trace, price)) is not None]
            found[price] = [point for points in known for point in points] if len(known) == len(traces) else None
        return found


def seeds_test(seeds: Iterable[int], others: Iterable[int]) -> MeanTest:
    """Return how two searches are compared: paired by search seed where they have at least two in common."""
    return MeanTest.PAIRED if len({*seeds} & {*others}) >= SEVERAL else MeanTest.WELCH


def _best_by_cost(search: ComparedSearch) -> BestByCost:
    spent = sorted({training.spent for trace in search.traces for training in trace.trainings})
    table = np.array([trace.best_at(spent) for trace in search.traces]).reshape(len(search.traces), len(spent))
    falls = np.isfinite(table).all(axis=0)
    falls[1:] &= (np.diff(np.where(np.isfinite(table), table, 0.0), axis=1) != 0).any(axis=0) | ~falls[:-1]
    if falls.any():
        falls[-1] = True
    costs, columns = np.array(spent)[falls], table[:, falls].T.tolist()
    bounds = [interval(column, CONFIDENCE) if len(column) >= SEVERAL else (None, None) for column in columns]
    means = tuple(fmean(column) for column in columns)
    low, high = (tuple(pair[side] for pair in bounds) for side in (0, 1))
    return BestByCost(search.name, len(search.traces), tuple(costs.tolist()), means, low, high)


def _by_seed(search: ComparedSearch, value: Callable[[SearchTrace], float | None]) -> dict[int, float]:
    found = {trace.seed: value(trace) for trace in search.traces}
    return {seed: each for seed, each in found.items() if each is not None and np.isfinite(each)}


def _points(trace: SearchTrace, price: str) -> list[tuple[float, float]] | None:
    """Return the lowest loss and the price of every candidate that has not diverged; None if a price is unknown."""
    by_candidate: dict[str, list[Training]] = {}
    for training in trace.trainings:
        by_candidate.setdefault(training.candidate, []).append(training)
    found = []
    for trainings in by_candidate.values():
        paid = trainings[0].forward_flops if price == "loss_flops" else seconds_of(trainings)
        if paid is None:
            return None
        found.append((min(training.loss for training in trainings), paid))
    return [point for point in found if np.isfinite(point[0])]
