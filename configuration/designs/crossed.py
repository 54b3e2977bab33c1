"""A crossed design with runs missing: what is no longer balanced, and which effects its runs still tell. Pure.

An effect is a linear function of the cells' means under a model of main effects and two-way interactions (of a
fraction, of its alias classes). It is estimable where it lies in the row space of the runs that are there, and then
least squares gives its weights. Searle 1971, "Linear Models", section 5.4; Montgomery 2017, section 8.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np
from jaxtyping import Float

from configuration.designs.factorial import Factorial
from configuration.designs.fractional import Fractional
from configuration.designs.point import label, level
from foundation.schema import JsonValue, canonical_text
from search_space.candidate import Candidate

Levels = tuple[int, ...]
"""A level per factor, by its place among the factor's values."""
Matrix = Float[np.ndarray, "runs parameters"]
Function = Float[np.ndarray, "parameters"]
Column = Float[np.ndarray, "runs"]
ORDERS_NAMED = 3
"""Aliases are named up to interactions of so many factors."""
TOLD = 4
KINDS = {1: "main", 2: "interaction"}
ROUNDING = 1e-8


@dataclass(frozen=True)
class Contrast:
    """An effect with the weight of each run that is there; or the reason why these runs do not tell it."""

    kind: str
    """`main` or `interaction`."""
    name: str
    weights: tuple[float, ...]
    aliases: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Crossed:
    """The runs that a factorial or a fraction asks for, and which of them are there."""

    factors: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """By factor, its levels in words."""
    values: tuple[tuple[JsonValue, ...], ...]
    """By factor, its levels as arms record them."""
    whole: tuple[Levels, ...]
    kept: tuple[Levels, ...]
    fraction: bool

    @property
    def missing(self) -> int:
        """How many runs are not there."""
        return len(self.whole) - len(self.kept)

    def without(self, runs: Set[Levels]) -> "Crossed":
        """Return the design without some of its runs."""
        kept = tuple(run for run in self.kept if run not in runs)
        return Crossed(self.factors, self.labels, self.values, self.whole, kept, self.fraction)

    @cached_property
    def effects(self) -> tuple[tuple[str, str, tuple[str, ...], Function], ...]:
        """Kind, name, aliases, and the effect as a function of the model's parameters."""
        return tuple(self._classes() if self.fraction else self._functions())

    @cached_property
    def model(self) -> Matrix:
        """The model of all runs: a row per run of `whole`, the mean's column first."""
        if self.fraction:
            columns = [np.ones(len(self.whole)), *(self._column(members[0]) for members in self._alias_classes)]
            return np.stack(columns, axis=1)
        places = range(len(self.factors))
        columns = [np.ones(len(self.whole))]
        for chosen in [*((place,) for place in places), *combinations(places, 2)]:
            for levels in product(*(range(1, len(self.labels[place])) for place in chosen)):
                columns.append(self._indicator(dict(zip(chosen, levels, strict=True))))
        return np.stack(columns, axis=1)

    @cached_property
    def rows(self) -> Matrix:
        """The model of the runs that are there, in the order of `kept`."""
        places = {run: place for place, run in enumerate(self.whole)}
        return np.asarray(self.model[[places[run] for run in self.kept]])

    def contrasts(self) -> Iterator[Contrast]:
        """Yield every main effect and two-way interaction, an alias once."""
        inverse = np.linalg.pinv(self.rows, rcond=ROUNDING)
        known = inverse @ self.rows
        lost = {name: f - f @ known for _, name, _, f in self.effects}
        open_ones = {name: rest for name, rest in lost.items() if np.abs(rest).max() > ROUNDING}
        for kind, name, aliases, function in self.effects:
            if name in open_ones:
                yield Contrast(kind, name, (), aliases, self._reason(name, open_ones))
            else:
                yield Contrast(kind, name, tuple((function @ inverse).tolist()), aliases)

    def unbalanced(self) -> tuple[str, ...]:
        """Return the factors whose levels are no longer in equally many runs."""
        counts = [[sum(run[place] == one for run in self.kept) for one in range(len(self.labels[place]))]
                  for place in range(len(self.factors))]  # fmt: skip
        return tuple(name for name, of in zip(self.factors, counts, strict=True) if len(set(of)) > 1)

    def entangled(self) -> tuple[str, ...]:
        """Return the pairs of two-level effects whose contrasts were independent and are so no longer."""
        if any(len(levels) != 2 for levels in self.labels):
            return ()
        sets = [members[0] for members in self._alias_classes]
        there = np.array([run in set(self.kept) for run in self.whole])
        columns = np.stack([self._column(one) for one in sets])[:, there]
        products = columns @ columns.T
        pairs = combinations(range(len(sets)), 2)
        return tuple(f"{self._words(sets[a])} and {self._words(sets[b])}" for a, b in pairs if products[a, b])

    def warning(self) -> str:
        """Return what the missing runs cost; empty where none is missing."""
        if not self.missing:
            return ""
        lost = "its resolution no longer holds" if self.fraction else "the factorial is not full"
        entangled, told = self.entangled(), [found for found in self.contrasts() if found.reason]
        parts = [f"{self.missing} of {len(self.whole)} runs are impossible and {lost}"]
        parts += [f"no longer balanced: {_first(self.unbalanced())}"] if self.unbalanced() else []
        parts += [f"no longer orthogonal: {_first(entangled)}"] if entangled else []
        parts.append(f"not estimable: {_first([one.name for one in told])}" if told else "every effect is estimable")
        return "; ".join(parts)

    def _reason(self, name: str, lost: Mapping[str, Function]) -> str:
        others = [other for other, rest in lost.items() if other != name and abs(rest @ lost[name]) > ROUNDING]
        apart = f"is confounded with {_first(others) if others else 'the mean'}"
        return f"{apart} in the {len(self.kept)} of {len(self.whole)} runs that are there"

    def _column(self, members: Sequence[int]) -> Column:
        return np.array([prod(1.0 if run[place] else -1.0 for place in members) for run in self.whole])

    def _indicator(self, levels: Mapping[int, int]) -> Column:
        return np.array([float(all(run[place] == one for place, one in levels.items())) for run in self.whole])

    @cached_property
    def _alias_classes(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Sets of factors whose columns are one another's, signs aside, that hold a pair or fewer; mains first."""
        found: dict[tuple[float, ...], list[tuple[int, ...]]] = {}
        for size in range(1, ORDERS_NAMED + 1):
            for members in combinations(range(len(self.factors)), size):
                column = self._column(members)
                key = tuple((column * column[0]).tolist())
                if key in found or size < ORDERS_NAMED:
                    found.setdefault(key, []).append(members)
        constant = tuple(np.ones(len(self.whole)).tolist())
        return tuple(tuple(members) for key, members in found.items() if key != constant)

    def _classes(self) -> Iterator[tuple[str, str, tuple[str, ...], Function]]:
        for place, (first, *others) in enumerate(self._alias_classes, 1):
            function = np.zeros(self.model.shape[1])
            function[place] = 2.0 ** len(first)  # an interaction is a difference of differences, as in a full design
            signs = ["" if self._column(other)[0] == self._column(first)[0] else "−" for other in others]
            aliases = tuple(sign + self._words(other) for sign, other in zip(signs, others, strict=True))
            yield KINDS[len(first)], self._named(first, (1,) * len(first)), aliases, function

    def _functions(self) -> Iterator[tuple[str, str, tuple[str, ...], Function]]:
        places = range(len(self.factors))
        for chosen in [*((place,) for place in places), *combinations(places, 2)]:
            rest = prod(len(self.labels[place]) for place in places if place not in chosen)
            for levels in product(*(range(1, len(self.labels[place])) for place in chosen)):
                pairs = list(zip(chosen, levels, strict=True))
                signs = [prod({one: 1, 0: -1}.get(run[place], 0) for place, one in pairs) for run in self.whole]
                function = np.array(signs) / rest @ self.model
                yield KINDS[len(chosen)], self._named(chosen, levels), (), function

    def _named(self, chosen: Sequence[int], levels: Sequence[int]) -> str:
        pairs = zip(chosen, levels, strict=True)
        return " x ".join(f"{self.factors[place]}={self.labels[place][one]}" for place, one in pairs)

    def _words(self, members: Sequence[int]) -> str:
        return " x ".join(self.factors[place] for place in members)


def crossed(design: Factorial | Fractional, baseline: Candidate, missing: Set[str] = frozenset()) -> Crossed | None:
    """Return the runs of a design, `missing` being names of points that are left out.

    None where a factor is not there at every point: a field of an option crosses with nothing that lacks it.
    """
    factors = tuple(design.vary)
    values = tuple(tuple(map(level, design.vary[path])) for path in factors)
    points = list(design.points(baseline))
    if any(set(point.levels) != set(factors) for point in points):
        return None
    texts = [[canonical_text(value) for value in of_factor] for of_factor in values]
    whole = tuple(_places(point.levels, factors, texts) for point in points)
    kept = tuple(run for run, point in zip(whole, points, strict=True) if point.name not in missing)
    labels = tuple(tuple(map(label, design.vary[path])) for path in factors)
    return Crossed(factors, labels, values, whole, kept, isinstance(design, Fractional))


def _places(found: Mapping[str, JsonValue], factors: Sequence[str], texts: Sequence[Sequence[str]]) -> Levels:
    return tuple(of.index(canonical_text(found[path])) for path, of in zip(factors, texts, strict=True))


def _first(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - TOLD} more" if len(texts) > TOLD else ""
    return f"{', '.join(texts[:TOLD])}{more}"
