"""Main effects and two-way interactions of crossed designs, paired by seed. Montgomery 2017, chapters 5, 6 and 8.

A factor is a path that arms change, with its values as levels; the baseline's value is the first level. In a full
factorial an effect is the mean over all settings of the other factors. In a two-level fraction whose columns are
orthogonal it is the contrast of the halves, and every effect with the same column is named as its alias: the data
cannot tell them apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from reports.numbers import NOTHING
from reports.results import Results
from reports.statistics.crossed import arms_by_levels, runs_of
from reports.statistics.effects import Difference, paired
from reports.statistics.metrics import Metric
from reports.tables.details_text import difference_cell
from reports.tables.grids import Column, Grid, grid
from reports.tables.table import Row, Table, interval, table
from runners.designs.arm import BASELINE
from runners.designs.crossed import ROUNDING
from runners.kept.records import ArmRow
from search_space.declaration import JsonValue, canonical_text

Levels = tuple[int, ...]
"""A level per factor, 0 being the baseline's."""
Weights = Mapping[str, float]
"""By arm; they sum to 0."""
MOST_FACTORS_NAMED = 3
"""Aliases are named up to interactions of so many factors."""


@dataclass(frozen=True)
class Effect:
    """A contrast of arms; `kind` is main or interaction."""

    kind: str
    name: str
    weights: Weights
    aliases: tuple[str, ...] = ()
    reason: str = ""
    """Why it cannot be estimated; empty where it can."""


@dataclass(frozen=True)
class Crossing:
    """The factors of a table and which arm stands at which point."""

    factors: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """By factor, its levels in words."""
    arms: Mapping[Levels, str]

    @property
    def full(self) -> bool:
        """Whether every combination of levels is an arm."""
        return len(self.arms) == prod(map(len, self.labels))

    @cached_property
    def columns(self) -> Mapping[tuple[int, ...], tuple[int, ...]]:
        """By set of factors, the product of their signs over the arms: the column of their interaction."""
        signs = np.array([[1 if level else -1 for level in point] for point in self.arms])
        sets = [s for size in range(1, MOST_FACTORS_NAMED + 1) for s in combinations(range(len(self.factors)), size)]
        return {s: tuple(signs[:, s].prod(axis=1).tolist()) for s in sets}

    @property
    def fraction(self) -> bool:
        """Whether it is a regular part of a two-level factorial: balanced columns, any two of them orthogonal."""
        if any(len(levels) != 2 for levels in self.labels):
            return False
        mains = np.array([column for s, column in self.columns.items() if len(s) == 1])
        size = len(self.arms)
        orthogonal = bool((np.abs(mains @ mains.T - size * np.eye(len(mains))) < 0.5).all())
        return orthogonal and not mains.sum(axis=1).any()


def crossing_of(arms: Sequence[ArmRow]) -> Crossing | None:
    """Return the crossed factors of a table, None where arms do not form such a design."""
    changes = {arm.name: arm.changes for arm in arms}
    paths = sorted({path for of_arm in changes.values() for path in of_arm})
    if len(paths) < 2 or BASELINE not in changes:
        return None
    values: list[list[JsonValue]] = [
        list({canonical_text(of[path]): of[path] for of in changes.values() if path in of}.values()) for path in paths
    ]
    points = {
        tuple(1 + values[place].index(of_arm[path]) if path in of_arm else 0 for place, path in enumerate(paths)): arm
        for arm, of_arm in changes.items()
    }
    labels = tuple((BASELINE, *map(_label, of_path)) for of_path in values)
    found = Crossing(tuple(paths), labels, points)
    return found if found.full or found.fraction else None


def _label(value: JsonValue) -> str:
    return str(value["kind"]) if isinstance(value, dict) and "kind" in value else str(value)


def effects_of(crossing: Crossing) -> Iterator[Effect]:
    """Yield the main effects, then the two-way interactions; an alias already named is not named again."""
    yield from _of_all_points(crossing) if crossing.full else _of_halves(crossing)


def _of_all_points(crossing: Crossing) -> Iterator[Effect]:
    places = range(len(crossing.factors))
    for chosen in [*((place,) for place in places), *combinations(places, 2)]:
        for levels in product(*(range(1, len(crossing.labels[place])) for place in chosen)):
            weights: dict[str, float] = {}
            rest = prod(len(crossing.labels[place]) for place in places if place not in chosen)
            pairs = list(zip(chosen, levels, strict=True))
            for point, arm in crossing.arms.items():
                sign = prod({level: 1, 0: -1}.get(point[place], 0) for place, level in pairs)
                if sign:
                    weights[arm] = sign / rest
            name = " x ".join(f"{crossing.factors[place]}={crossing.labels[place][level]}" for place, level in pairs)
            yield Effect("main" if len(chosen) == 1 else "interaction", name, weights)


def _of_halves(crossing: Crossing) -> Iterator[Effect]:
    named: set[tuple[int, ...]] = set()
    for chosen, column in crossing.columns.items():
        if len(chosen) > 2 or column in named or sum(column) != 0:
            continue
        mirrored = tuple(-sign for sign in column)
        named |= {column, mirrored}
        same = [s for s, other in crossing.columns.items() if s != chosen and other in (column, mirrored)]
        scale = 2 ** len(chosen) / len(column)  # an interaction is a difference of differences, as in a full design
        weights = {arm: sign * scale for arm, sign in zip(crossing.arms.values(), column, strict=True)}
        aliases = tuple(
            ("" if crossing.columns[s] == column else "−") + " x ".join(crossing.factors[place] for place in s)
            for s in same
        )
        name = " x ".join(f"{crossing.factors[place]}={crossing.labels[place][1]}" for place in chosen)
        yield Effect("main" if len(chosen) == 1 else "interaction", name, weights, aliases)


def contrast(results: Results, weights: Weights, metric: Metric) -> Difference:
    """Return a contrast with its interval, paired by seed: over the seeds that every arm in it has."""
    samples = {arm: results.values.get(arm, {}).get(metric.name, {}) for arm in weights}
    seeds = set.intersection(*(set(sample) for sample in samples.values()))
    values = {seed: sum(weight * samples[arm][seed] for arm, weight in weights.items()) for seed in seeds}
    level = max(results.confidence(arm) for arm in weights)
    return paired(values, dict.fromkeys(seeds, 0.0), level)


def factors_table(results: Results) -> Table:
    """Return every main effect and two-way interaction on every metric, none where arms are not crossed."""
    return table("factors", "kind effect aliases metric n delta low high reason", _rows(results))


def _effects(results: Results) -> Iterator[Effect]:
    """Yield the effects of the design; where it has lost runs, those that the rest still tell, and why not."""
    runs = runs_of(results)
    crossing = None if runs and runs.missing else crossing_of(results.arms)
    if crossing is not None:
        yield from effects_of(crossing)
    elif runs is not None:
        arms = {levels: arm for arm, levels in arms_by_levels(results, runs).items()}
        for found in runs.contrasts():
            weights = zip(runs.kept, found.weights, strict=not found.reason) if found.weights else ()
            by_arm = {arms[run]: weight for run, weight in weights if abs(weight) > ROUNDING}
            yield Effect(found.kind, found.name, by_arm, found.aliases, found.reason)


def _rows(results: Results) -> Iterator[Row]:
    for effect in _effects(results):
        for metric in results.metrics:
            found = contrast(results, effect.weights, metric) if effect.weights else Difference()
            yield {
                "kind": effect.kind,
                "effect": effect.name,
                "aliases": " + ".join(effect.aliases) or None,
                "metric": metric.name,
                "n": found.pairs,
                **interval(found),
                "reason": effect.reason or None,
            }


def factors_grids(results: Results, found: Table) -> Iterator[Grid]:
    """Yield main effects and interactions on the metrics that a finding speaks of."""
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    titles = {"main": "Main effects: over all settings of the other factors"}
    titles["interaction"] = "Interactions: by how much one change alters the effect of the other"
    for kind, title in titles.items():
        rows = [row for row in found.rows if row["kind"] == kind and row["metric"] in decimals]
        aliased = any(row["aliases"] for row in rows)
        columns = [Column("effect", numeric=False), Column("metric", numeric=False), Column("Δ [95%] (n)")]
        columns += [Column("or is it", numeric=False)] if aliased else []
        lost = any(row["reason"] for row in rows)
        columns += [Column("not estimable: it", numeric=False)] if lost else []
        cells = (
            [str(row["effect"]), Metric(str(row["metric"])).title, difference_cell(row, decimals[str(row["metric"])])]
            + ([str(row["aliases"] or NOTHING)] if aliased else [])
            + ([str(row["reason"] or NOTHING)] if lost else [])
            for row in rows
        )
        if rows:
            yield grid(f"factors {kind}", title, columns, cells)
