"""A search on recorded curves: the cohorts and hurdles of `run` (`CohortSearch`), with values from a table.

One training at a time; the earliest trial that may continue trains to its next rung. A search does not know its
budget, so that one with a smaller budget is the beginning of one with a larger budget.

The sampler sees configurations as columns of labels and numbers. A list of parts (the layers of an encoder) becomes
its length and, over the parts, the sum of every number and the count of every label: a histogram of parts, which is
what architecture kernels compare first (Ru et al. 2021, arXiv 2006.07556, the Weisfeiler-Lehman kernel at depth 0).
Numbers are rank-transformed, so that learning rates and layer counts have the same scale; constant columns and those
with the ranks of another one are dropped.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runners.policies.evolution import Action
from runners.replay.settings import TOKENS, SearchSettings
from runners.scheduling.cohort_search import CohortSearch
from runners.search.optuna_sampler import told_trial
from steeplechase.configuration.hurdles.population import State, TrialView
from steeplechase.foundation.randomness import stream_seed
from steeplechase.foundation.schema import JsonValue

ROUNDING = 1e-9  # sums of shares of a training
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Features:
    """The columns of recorded configurations."""

    labels: tuple[tuple[str, ...] | None, ...]
    """Of each column the labels, None of numbers [columns]."""
    values: Numbers
    """Numbers of labels, or ranks in [0, 1] [candidates, columns]."""

    def of(self, candidates: NDArray[np.int64]) -> "Features":
        """Return the features of some candidates, in their order."""
        return Features(self.labels, self.values[candidates])

    @cached_property
    def _is_label(self) -> NDArray[np.bool_]:
        return np.array([labels is not None for labels in self.labels], dtype=np.bool_)

    def distances(self, point: Sequence[float], candidates: NDArray[np.int64]) -> Numbers:
        """Return the distances of candidates to a point: of numbers their difference, of two labels 1."""
        apart = np.abs(self.values[candidates] - np.asarray(point))
        return np.asarray(np.where(self._is_label, apart > 0, apart).sum(axis=1))


@dataclass(frozen=True)
class Told:
    """A recorded candidate that a replayed search has seen."""

    point: tuple[float, ...]
    """Numbers of labels, and numbers in [0, 1] [axes]."""
    losses: tuple[float, ...]
    final: float | None


class RecordedSearch:
    """Implements `next_action` and `observe`; candidates are rows of `features`, in random order."""

    def __init__(self, settings: SearchSettings, costs: Numbers, features: Features, seed: int) -> None:
        self._settings, self._features, self._seed = settings, features, seed
        rungs = settings.hurdle.rungs_of(TOKENS)
        self._points_at_rungs = (np.searchsorted(costs, np.array([*rungs, TOKENS]) / TOKENS - ROUNDING) + 1).tolist()
        self._search = CohortSearch(settings.hurdle)
        self._trials: dict[int, TrialView] = {}
        """By candidate, in the order in which they entered."""
        self._free = np.arange(len(features.values))
        """Candidates that have not entered, in random order."""
        self._cohorts = 0

    def next_action(self) -> Action | None:
        """Return the training of the earliest trial that may continue; the next cohort enters after the last one."""
        while not (live := self._search.next_action()):
            if not len(self._free):
                return None
            self._enter()
        entered = ((candidate, trial) for candidate, trial in self._trials.items() if trial.name in live)
        candidate, trial = next(each for each in entered if each[1].state is State.MOVING)
        return Action(candidate, self._points_at_rungs[trial.level])

    def observe(self, candidate: int, values: Sequence[float]) -> None:
        """Add the new values of a candidate, infinite after divergence, and take the decisions that they allow."""
        trial, last = self._trials[candidate], float(values[-1])
        if not np.isfinite(last):
            trial = replace(trial, state=State.DONE)
        elif trial.level == len(self._points_at_rungs) - 1:
            trial = replace(trial, state=State.DONE, final=last)
        else:
            trial = replace(trial, state=State.WAITING, values=(*trial.values, last))
        self._show(candidate, trial)
        while decisions := self._search.decisions():
            for name, decision in decisions.items():
                waiting = self._trials[int(name)]
                self._search.decided(waiting.cohort, waiting.level, decision)
                state = State.MOVING if decision.cleared else State.DONE
                self._show(int(name), replace(waiting, state=state, level=waiting.level + 1))

    def _enter(self) -> None:
        size = self._settings.hurdle.cohort_size(self._cohorts, self._settings.cohort)
        for candidate in self._proposed(size):
            self._show(candidate, TrialView(str(candidate), self._cohorts, State.MOVING))
        self._cohorts += 1

    def _proposed(self, size: int) -> Iterator[int]:
        """Yield the candidates of the next cohort: those nearest to the sampler's points, or in random order."""
        entered, share = len(self._trials), self._settings.random_share
        learns = self._settings.learns and self._cohorts > 0
        points = iter(self._points(size) if learns else ())
        for number in range(entered, min(entered + size, len(self._features.values))):
            drawn = int((number + 1) * share) > int(number * share)
            point = None if drawn else next(points, None)
            place = 0 if point is None else int(np.argmin(self._features.distances(point, self._free)))
            candidate = int(self._free[place])
            self._free = np.delete(self._free, place)
            yield candidate

    def _points(self, size: int) -> list[tuple[float, ...]]:
        told = []
        for candidate, trial in self._trials.items():
            losses = tuple(value for value in trial.values if value is not None)
            told.append(Told(tuple(self._features.values[candidate].tolist()), losses, trial.final))
        seed = stream_seed(self._seed, "proposals", self._cohorts) % 2**32
        return _next_points(self._features.labels, told, seed, size, self._settings.cohort)

    def _show(self, candidate: int, trial: TrialView) -> None:
        self._trials[candidate] = trial
        self._search.observe(trial, trial.state is State.DONE)


def _next_points(
    labels: Sequence[Sequence[str] | None], told: Sequence[Told], seed: int, count: int, startup: int
) -> list[tuple[float, ...]]:
    """Return proposals of TPE in a space of recorded configurations; axes have labels, or None for numbers."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    choices, numbers = optuna.distributions.CategoricalDistribution, optuna.distributions.FloatDistribution(0.0, 1.0)
    axes: dict[str, optuna.distributions.BaseDistribution] = {
        str(axis): numbers if known is None else choices(range(len(known))) for axis, known in enumerate(labels)
    }
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)
    study = optuna.create_study(sampler=sampler)
    for each in told:
        place = dict(zip(axes, each.point, strict=True))
        point = {axis: value if axes[axis] is numbers else int(value) for axis, value in place.items()}
        study.add_trial(told_trial(axes, point, each.losses, None if each.final is None else [each.final]))
    return [tuple(float(trial.params[axis]) for axis in axes) for trial in (study.ask(axes) for _ in range(count))]


def features_of(configs: Sequence[Mapping[str, JsonValue]]) -> Features:
    """Return the columns of configurations; one that lacks a column has the label "" or the number 0 in it."""
    rows = [dict(_leaves(config, "")) for config in configs]
    labels: list[tuple[str, ...] | None] = []
    distinct: dict[bytes, Numbers] = {}
    for name in sorted({name for row in rows for name in row}):
        found = [row.get(name) for row in rows]
        texts = any(isinstance(value, str) for value in found)
        known = tuple(sorted({_text(value) for value in found})) if texts else None
        places = {label: place for place, label in enumerate(known or ())}
        column = np.array(
            [places[_text(value)] if texts else float(value or 0.0) for value in found], dtype=np.float64
        )
        if np.ptp(column) > 0:
            column = column if texts else _ranks(column)
            if column.tobytes() not in distinct:
                distinct[column.tobytes()] = column
                labels.append(known)
    return Features(tuple(labels), np.array([*distinct.values()]).T.reshape(len(rows), len(labels)))


def _text(value: str | float | None) -> str:
    return "" if value is None else str(value)


def _ranks(column: Numbers) -> Numbers:
    """Return ranks in [0, 1]; equal values share the mean of their ranks."""
    from scipy.stats import rankdata  # half a second of import

    ranks = rankdata(column)
    return np.asarray((ranks - ranks.min()) / np.ptp(ranks))


def _leaves(value: JsonValue | Mapping[str, JsonValue], path: str) -> Iterator[tuple[str, str | float]]:
    if isinstance(value, bool | int | float):
        yield path, float(value) if np.isfinite(value) else 0.0
    elif isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(value, list):
        yield f"{path}.length", float(len(value))
        totals = dict[str, float]()
        for part in value:
            for name, found in _leaves(part, f"{path}[]"):
                key, number = (f"{name}={found}", 1.0) if isinstance(found, str) else (name, found)
                totals[key] = totals.get(key, 0.0) + number
        yield from totals.items()
