"""A search replayed on recorded curves over many seeds, and its regret. Definitions are in docs/replay.md.

Normalised regret = (best seen - optimum) / (median final - optimum). Best seen is the best value that the search has
observed of any candidate at any step; optimum is the best value of any candidate at any step; median final is the
median of the final values that are finite. It is 1, the median, if no finite value was observed. A seed fixes the
order in which candidates are drawn, the same for every search, so that searches are paired by seed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from runners.replay.curves.recorded import RecordedCurves
from runners.replay.search import ROUNDING, Features, Numbers, RecordedSearch, features_of
from runners.replay.settings import SettingsOf

RESAMPLES = 2000


@dataclass(frozen=True)
class CurveTask:
    """Curves with their configurations as columns."""

    curves: RecordedCurves
    features: Features = field(repr=False)

    @classmethod
    def of(cls, curves: RecordedCurves) -> "CurveTask":
        """Return the task of recorded curves."""
        return cls(curves, features_of(curves.configs))

    def order(self, seed: int) -> NDArray[np.int64]:
        """Return the random order of the candidates at a seed, independent of their order in the file."""
        shuffled = np.random.default_rng([seed, 0]).permutation(len(self.curves.candidates))
        return np.asarray(self.curves.in_order)[shuffled]

    def regret(self, value: float) -> float:
        """Return the normalised regret of a value; 1 of an infinite one."""
        return _normalised(value, self.curves.optimum, self.curves.median_final)


@dataclass(frozen=True)
class Outcome:
    """Result of one replay."""

    regret: float
    regret_of_choice: float
    """(final value of the incumbent - best final) / (median final - best final)."""
    spent: float
    started: int
    finished: int


@dataclass(frozen=True)
class Training:
    """One training of a replay: the new points of a candidate, as indices."""

    candidate: int
    points: range


def trainings(
    values: Numbers, costs: Numbers, features: Features, settings_of: SettingsOf, budget: float, seed: int
) -> Iterator[Training]:
    """Yield the trainings of a search on values [candidates, points]; the last one is truncated to the budget."""
    search = RecordedSearch(settings_of(costs), costs, features, seed)
    reached, spent = np.zeros(len(values), dtype=np.int64), 0.0
    while (action := search.next_action()) is not None:
        done = int(reached[action.candidate])
        before = float(costs[done - 1]) if done else 0.0
        affordable = int(np.searchsorted(costs, before + budget - spent + ROUNDING, side="right"))
        broken = np.flatnonzero(np.isinf(values[action.candidate, done : action.points]))
        wanted = done + int(broken[0]) + 1 if len(broken) else action.points
        points = min(wanted, affordable)
        if points > done:
            yield Training(action.candidate, range(done, points))
        if points < wanted:
            return
        reached[action.candidate] = points
        spent += float(costs[points - 1]) - before
        search.observe(action.candidate, values[action.candidate, done:points].tolist())


def replay(task: CurveTask, settings_of: SettingsOf, budget: float, seed: int) -> Outcome:
    """Replay one search on one task at one seed."""
    order, curves = task.order(seed), task.curves
    values, features = curves.values[order], task.features.of(order)
    steps = np.diff(curves.costs, prepend=0.0)
    best, incumbent, spent, reached = np.inf, 0, 0.0, np.zeros(len(values), dtype=np.int64)
    for each in trainings(values, curves.costs, features, settings_of, budget, seed):
        seen = values[each.candidate, each.points.start : each.points.stop]
        if seen.min() < best:
            best, incumbent = float(seen.min()), each.candidate
        reached[each.candidate] = each.points.stop
        spent += float(steps[each.points.start : each.points.stop].sum())
    final = float(values[incumbent, -1]) if np.isfinite(best) else np.inf
    return Outcome(
        regret=task.regret(best),
        regret_of_choice=_normalised(final, float(curves.values[:, -1].min()), curves.median_final),
        spent=spent,
        started=int((reached > 0).sum()),
        finished=int((reached == len(curves.costs)).sum()),
    )


def regrets(task: CurveTask, settings_of: SettingsOf, budgets: Sequence[float], seed: int) -> list[float]:
    """Return the normalised regret of `replay` at each budget, from one replay to the largest."""
    order, curves = task.order(seed), task.curves
    values, steps = curves.values[order], np.diff(curves.costs, prepend=0.0)
    spent, seen = [0.0], [np.inf]
    for each in trainings(values, curves.costs, task.features.of(order), settings_of, max(budgets), seed):
        spent += steps[each.points].tolist()
        seen += values[each.candidate, each.points].tolist()
    ends = np.searchsorted(np.cumsum(spent), np.array(budgets) + ROUNDING, side="right") - 1
    return [task.regret(float(value)) for value in np.minimum.accumulate(seen)[ends]]


def _normalised(value: float, optimum: float, median: float) -> float:
    if not np.isfinite(value):
        return 1.0
    return float((value - optimum) / (median - optimum)) if median > optimum else 0.0


def interval(per_seed: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean over seeds and its 95% bootstrap interval, with a fixed seed."""
    values = np.asarray(per_seed, dtype=np.float64)
    picks = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[picks].mean(axis=1), [0.025, 0.975])
    return float(values.mean()), float(low), float(high)
