"""A policy replayed on recorded curves over many seeds, and its regret. Definitions are in docs/replay.md.

Normalised regret = (best seen - optimum) / (median final - optimum). Best seen is the best value that the policy has
observed of any candidate at any step; optimum is the best value of any candidate at any step; median final is the
median of the final values that are finite. It is 1, the median, if no finite value was observed. A seed fixes the
order in which candidates are drawn, the same for every policy, so that policies are paired by seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runners.policies.features import features_of
from runners.policies.policy import ROUNDING, PolicyFactory
from runners.replay.curves.recorded import RecordedCurves
from runners.replay.simulation import Simulation, SimulationState

Numbers = NDArray[np.float64]

RESAMPLES = 2000


@dataclass(frozen=True)
class CurveTask:
    """Curves with their configurations as numbers."""

    curves: RecordedCurves
    features: Numbers = field(repr=False)

    @classmethod
    def of(cls, curves: RecordedCurves) -> "CurveTask":
        """Return the task of recorded curves."""
        return cls(curves, features_of(curves.configs))

    def order(self, seed: int) -> NDArray[np.int64]:
        """Return the random order of the candidates at a seed, independent of their order in the file."""
        shuffled = np.random.default_rng([seed, 0]).permutation(len(self.curves.candidates))
        return np.asarray(self.curves.in_order)[shuffled]

    @cached_property
    def top_percent(self) -> float:
        """The final value at the best percentile; with fewer than 100 candidates, the best one."""
        final = np.sort(self.curves.values[:, -1])
        return float(final[max(len(final) // 100, 1) - 1])


@dataclass(frozen=True)
class Outcome:
    """Result of one simulation."""

    regret: float
    regret_of_choice: float
    """(final value of the incumbent - best final) / (median final - best final)."""
    spent: float
    started: int
    finished: int
    top_seen_at: float | None
    """Full trainings spent when a candidate of the top percent was first trained to its end."""


def replay(task: CurveTask, policy: PolicyFactory, budget: float, seed: int) -> Outcome:
    """Simulate one policy on one task at one seed."""
    order, curves = task.order(seed), task.curves
    values = curves.values[order]
    simulation = Simulation(values, curves.costs, task.features[order], budget)
    last = SimulationState(0.0, np.inf, 0)
    top_seen_at: float | None = None
    top = set(np.flatnonzero(values[:, -1] <= task.top_percent).tolist())
    for state in simulation.run(policy, np.random.default_rng([seed, 1])):
        last = state
        if top_seen_at is None and any(simulation.reached[candidate] == len(curves.costs) for candidate in top):
            top_seen_at = state.spent
    return Outcome(
        regret=_normalised(last.best_seen, curves.optimum, curves.median_final),
        regret_of_choice=_of_choice(values[last.incumbent, -1], curves) if np.isfinite(last.best_seen) else 1.0,
        spent=last.spent,
        started=int((simulation.reached > 0).sum()),
        finished=int((simulation.reached == len(curves.costs)).sum()),
        top_seen_at=top_seen_at,
    )


def regrets(task: CurveTask, policy: PolicyFactory, budgets: Sequence[float], seed: int) -> list[float]:
    """Return the normalised regret of `replay` at each budget, from one race to the largest.

    A policy does not know its budget, so that a race with a smaller one is the beginning of a race with a larger one.
    """
    order, curves = task.order(seed), task.curves
    values, steps = curves.values[order], np.diff(curves.costs, prepend=0.0)
    simulation = Simulation(values, curves.costs, task.features[order], max(budgets))
    spent, seen = [0.0], [np.inf]
    for state in simulation.run(policy, np.random.default_rng([seed, 1])):
        assert state.trained is not None
        candidate, points = state.trained
        spent += steps[points].tolist()
        seen += values[candidate, points].tolist()
    ends = np.searchsorted(np.cumsum(spent), np.array(budgets) + ROUNDING, side="right") - 1
    best = np.minimum.accumulate(seen)[ends]
    return [_normalised(float(value), curves.optimum, curves.median_final) for value in best]


def _of_choice(final: float, curves: RecordedCurves) -> float:
    return _normalised(float(final), float(curves.values[:, -1].min()), curves.median_final)


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
