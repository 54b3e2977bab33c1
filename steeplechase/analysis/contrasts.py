"""Factorial contrasts: main effects and two-way interactions, and whether they are estimable.

An effect is a contrast over the runs of the full factorial: a difference of level means. With every run there, these
are its weights. With runs missing, an effect is estimable where it lies in the row space of the remaining runs under
a model of main effects and two-way interactions; least squares gives its weights. Montgomery 2017, chapters 5 and 6;
Searle 1971, "Linear Models", section 5.4.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Literal

import numpy as np

from steeplechase.analysis.shapes import Float, Int

Levels = tuple[int, ...]
"""A run: a level per factor, by its place among the factor's levels."""
Kind = Literal["main", "interaction"]
Matrix = Float[np.ndarray, "runs parameters"]
Column = Float[np.ndarray, "runs"]
NAMES_SHOWN = 4
ROUNDING = 1e-8


@dataclass(frozen=True)
class Contrast:
    """An effect with the weight of each remaining run, or the reason why it is not estimable."""

    kind: Kind
    name: str
    factors: tuple[int, ...]
    """The places of its factors."""
    weights: tuple[float, ...]
    """Per remaining run; empty where it is not estimable."""
    reason: str = ""


@dataclass(frozen=True)
class CrossedDesign:
    """Factors with the names of their levels, the runs of the whole design, and those that remain."""

    factors: tuple[str, ...]
    level_names: tuple[tuple[str, ...], ...]
    """By factor, what an effect of each level is called: `heads=2`."""
    runs: tuple[Levels, ...]
    remaining: tuple[Levels, ...]

    @property
    def missing(self) -> int:
        """How many runs do not remain."""
        return len(self.runs) - len(self.remaining)

    @property
    def full(self) -> bool:
        """Whether every combination of levels is a run."""
        return len(self.runs) == prod(map(len, self.level_names))

    @property
    def two_level(self) -> bool:
        """Whether every factor has two levels."""
        return all(len(names) == 2 for names in self.level_names)

    def without(self, runs: Set[Levels]) -> "CrossedDesign":
        """Return the design without some of its runs."""
        return replace(self, remaining=tuple(run for run in self.remaining if run not in runs))

    def contrasts(self) -> Iterator[Contrast]:
        """Yield every main effect, then every two-way interaction."""
        if not self.missing:
            yield from self.effects
            return
        observed = self.model_of(self.remaining)
        inverse = np.linalg.pinv(observed, rcond=ROUNDING)
        functions = {one.name: np.array(one.weights) @ self.model for one in self.effects}
        residuals = {name: each - each @ inverse @ observed for name, each in functions.items()}
        lost = {name: each for name, each in residuals.items() if np.abs(each).max() > ROUNDING}
        for one in self.effects:
            if one.name in lost:
                yield replace(one, weights=(), reason=self._reason(one.name, lost))
            else:
                yield replace(one, weights=tuple((functions[one.name] @ inverse).tolist()))

    @cached_property
    def effects(self) -> tuple[Contrast, ...]:
        """The effects as contrasts over all runs of the design."""
        return tuple(self._contrast(factors, levels) for factors, levels in self._terms())

    @property
    def model(self) -> Matrix:
        """The model of all runs: a row per run, the mean's column first."""
        return self.model_of(self.runs)

    def model_of(self, runs: Sequence[Levels]) -> Matrix:
        """Return the model's rows of some runs: indicators of levels and of pairs of levels."""
        places = {run: place for place, run in enumerate(self.runs)}
        columns = [np.ones(len(self.runs))]
        columns += [self._product(factors, levels, other=0) for factors, levels in self._terms()]
        return np.asarray(np.stack(columns, axis=1)[[places[run] for run in runs]])

    def unbalanced(self) -> tuple[str, ...]:
        """Return the factors whose levels are no longer in equally many runs."""
        remaining = np.array(self.remaining, np.int64).reshape(-1, len(self.factors))
        counts = (
            np.bincount(remaining[:, place], minlength=len(names)) for place, names in enumerate(self.level_names)
        )
        return tuple(name for name, of_levels in zip(self.factors, counts, strict=True) if np.ptp(of_levels))

    def correlated(self) -> tuple[str, ...]:
        """Return the pairs of two-level effects whose columns were orthogonal and are no longer."""
        if not self.two_level:
            return ()
        effects = [factors for factors, _ in self._terms()]
        there = np.isin(np.arange(len(self.runs)), [self.runs.index(run) for run in self.remaining])
        columns = np.stack([self._signs(members) for members in effects])[:, there]
        products = columns @ columns.T
        pairs = combinations(range(len(effects)), 2)
        return tuple(f"{self._joined(effects[a])} and {self._joined(effects[b])}" for a, b in pairs if products[a, b])

    @property
    def _places(self) -> range:
        return range(len(self.factors))

    @cached_property
    def _levels(self) -> Int[np.ndarray, "runs factors"]:
        return np.array(self.runs, dtype=np.int64).reshape(len(self.runs), len(self.factors))

    def _terms(self) -> Iterator[tuple[tuple[int, ...], Levels]]:
        """Yield the factors and levels of every main effect and two-way interaction against the first levels."""
        for factors in [*((place,) for place in self._places), *combinations(self._places, 2)]:
            for levels in product(*(range(1, len(self.level_names[place])) for place in factors)):
                yield factors, levels

    def _contrast(self, factors: tuple[int, ...], levels: Levels) -> Contrast:
        """Return the difference of level means of a main effect or a two-way interaction."""
        averaged = prod(len(self.level_names[place]) for place in self._places if place not in factors)
        weights = self._product(factors, levels, other=-1) / averaged
        name = " x ".join(self.level_names[place][level] for place, level in zip(factors, levels, strict=True))
        kind: Kind = "main" if len(factors) == 1 else "interaction"
        return Contrast(kind, name, factors, tuple(weights.tolist()))

    def _signs(self, members: Sequence[int]) -> Column:
        """Return the column of an interaction of two-level factors: the product of -1 and 1."""
        return np.asarray(np.where(self._levels[:, list(members)] > 0, 1.0, -1.0).prod(axis=1))

    def _product(self, factors: Sequence[int], levels: Levels, other: int) -> Column:
        """Return, per run, 1 at the levels; `other` per factor at its first level; 0 elsewhere."""
        found = self._levels[:, list(factors)]
        return np.asarray(np.where(found == levels, 1.0, np.where(found == 0, float(other), 0.0)).prod(axis=1))

    def _reason(self, name: str, lost: Mapping[str, Column]) -> str:
        others = [other for other, each in lost.items() if other != name and abs(each @ lost[name]) > ROUNDING]
        confounded = f"is confounded with {first_names(others) if others else 'the mean'}"
        return f"{confounded} in the {len(self.remaining)} of {len(self.runs)} runs that are there"

    def _joined(self, members: Sequence[int]) -> str:
        return " x ".join(self.factors[place] for place in members)


def first_names(names: Sequence[str]) -> str:
    """Return the first few names and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{', '.join(names[:NAMES_SHOWN])}{more}"
