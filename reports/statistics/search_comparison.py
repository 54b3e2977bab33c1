"""Several searches of one space side by side: what each found by what it spent, over search seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.difference import Effect, MeanTest
from analysis.effects import effect
from analysis.hypervolume import hypervolume
from analysis.search_trace import SearchTrace, Training

SEVERAL = 2
COSTS_SHOWN = 8
"""Costs at which the tables have the lowest loss so far, at equal distances up to the least that a search spent."""
Price = Callable[[Training], float | None]


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
class SearchComparison:
    """Searches of one space; differences are from the first one, paired by search seed where both have the same seeds."""

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
        return effect(own, others, test=MeanTest.PAIRED if self.paired(search) else MeanTest.WELCH)

    def paired(self, search: ComparedSearch) -> bool:
        """Return whether a search has at least two seeds in common with the reference."""
        return len({*search.seeds} & {*self.reference.seeds}) >= SEVERAL

    @cached_property
    def costs(self) -> tuple[float, ...]:
        """Costs on a grid, from the first at which every search has found something to the least that one spent."""
        traces = [trace for search in self.searches for trace in search.traces]
        last = min(trace.cost for trace in traces)
        return tuple(float(cost) for cost in np.linspace(0, last, COSTS_SHOWN + 1)[1:])

    def hypervolume(self, trace: SearchTrace, price: Price) -> float | None:
        """Return the share of the box between the best and the worst of all searches that a search dominates.

        Of losses and prices of its candidates; None where a price was not measured.
        """
        points, every = _points(trace, price), self._every_point(price)
        if points is None or every is None or not points:
            return None
        low, high = (np.array(every).min(axis=0), np.array(every).max(axis=0))
        if not (high > low).all():
            return None
        return hypervolume((np.array(points) - low) / (high - low))

    def _every_point(self, price: Price) -> list[tuple[float, float]] | None:
        found: list[tuple[float, float]] = []
        for search in self.searches:
            for trace in search.traces:
                points = _points(trace, price)
                if points is None:
                    return None
                found += points
        return found


def _by_seed(search: ComparedSearch, value: Callable[[SearchTrace], float | None]) -> dict[int, float]:
    found = {trace.seed: value(trace) for trace in search.traces}
    return {seed: each for seed, each in found.items() if each is not None and np.isfinite(each)}


def _points(trace: SearchTrace, price: Price) -> list[tuple[float, float]] | None:
    """Return the lowest loss and the price of every candidate that has not diverged; None if a price is unknown."""
    losses: dict[str, float] = {}
    prices: dict[str, float] = {}
    for training in trace.trainings:
        paid = price(training)
        if paid is None:
            return None
        losses[training.candidate] = min(training.loss, losses.get(training.candidate, np.inf))
        prices[training.candidate] = paid
    return [(loss, prices[candidate]) for candidate, loss in losses.items() if np.isfinite(loss)]


def forward_flops(training: Training) -> float:
    """Return the FLOPs of a candidate, for one sequence."""
    return training.forward_flops


