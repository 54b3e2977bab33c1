"""Main effects and two-way interactions of crossed designs, paired by seed. Montgomery 2017, chapters 5, 6 and 8.

A factor is what the design varied, with its values as levels; the baseline's is the first level. In a full factorial
an effect is the mean over all settings of the other factors. In a two-level fraction whose columns are orthogonal it
is the contrast of the halves, and every effect with the same column is named as its alias: no data of these runs
separates them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from analysis.effects import Difference, SeedValues, paired
from analysis.paired import ALPHA, holm, t_p
from configuration.designs.crossed import ROUNDING, Crossed
from ledger.records import ArmRow
from reports.number_format import NOTHING, p_text
from reports.results import Results
from reports.sections.details_text import difference_cell
from reports.sections.grids import Cell, Column, Grid, grid
from reports.sections.table import Row, Table, interval, number, table
from reports.statistics.crossed import arms_by_levels, runs_of
from reports.statistics.levels import Factor, Place, factors_of
from reports.statistics.metrics import Metric
from search_space.candidate import Candidate

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
    against: str = ""
    """Of a main effect, the level that it is the difference from, where that is known."""

    @property
    def title(self) -> str:
        """The name with what it is against: `heads=2 against 4`."""
        return f"{self.name} against {self.against}" if self.against else self.name


@dataclass(frozen=True)
class Crossing:
    """The factors of a table and which arm is at which point."""

    factors: tuple[Factor, ...]
    arms: Mapping[Place, str]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many levels each factor has."""
        return tuple(len(factor.values) for factor in self.factors)

    @property
    def full(self) -> bool:
        """Whether every combination of levels is an arm."""
        return len(self.arms) == prod(self.counts)

    def named(self, chosen: Sequence[int], levels: Sequence[int]) -> str:
        """Return an effect's name: `heads=2 x convolution.kernel_size=3`."""
        return " x ".join(self.factors[place].at(level) for place, level in zip(chosen, levels, strict=True))

    @cached_property
    def columns(self) -> Mapping[tuple[int, ...], tuple[int, ...]]:
        """By set of factors, the product of their signs over the arms: the column of their interaction."""
        signs = np.array([[1 if level else -1 for level in point] for point in self.arms])
        sets = [s for size in range(1, MOST_FACTORS_NAMED + 1) for s in combinations(range(len(self.factors)), size)]
        return {s: tuple(signs[:, s].prod(axis=1).tolist()) for s in sets}

    @property
    def fraction(self) -> bool:
        """Whether it is a regular part of a two-level factorial: balanced columns, any two of them orthogonal."""
        if any(count != 2 for count in self.counts):
            return False
        mains = np.array([column for s, column in self.columns.items() if len(s) == 1])
        size = len(self.arms)
        orthogonal = bool((np.abs(mains @ mains.T - size * np.eye(len(mains))) < 0.5).all())
        return orthogonal and not mains.sum(axis=1).any()


def crossing_of(arms: Sequence[ArmRow], baseline: Candidate, chosen: Sequence[str] = ()) -> Crossing | None:
    """Return the crossed factors of a table, None where arms do not form such a design."""
    found = factors_of(arms, baseline, chosen)
    if found is None or len(found[0]) < 2:
        return None
    crossing = Crossing(found[0], {place: arm for arm, place in found[1].items()})
    return crossing if crossing.full or crossing.fraction else None


def effects_of(crossing: Crossing) -> Iterator[Effect]:
    """Yield the main effects, then the two-way interactions; an alias already named is not named again."""
    yield from _of_all_points(crossing) if crossing.full else _of_halves(crossing)


def _of_all_points(crossing: Crossing) -> Iterator[Effect]:
    places = range(len(crossing.factors))
    for chosen in [*((place,) for place in places), *combinations(places, 2)]:
        for levels in product(*(range(1, crossing.counts[place]) for place in chosen)):
            weights: dict[str, float] = {}
            rest = prod(crossing.counts[place] for place in places if place not in chosen)
            pairs = list(zip(chosen, levels, strict=True))
            for point, arm in crossing.arms.items():
                sign = prod({level: 1, 0: -1}.get(point[place], 0) for place, level in pairs)
                if sign:
                    weights[arm] = sign / rest
            against = crossing.factors[chosen[0]].reference if len(chosen) == 1 else ""
            kind, name = "interaction" if len(chosen) > 1 else "main", crossing.named(chosen, levels)
            yield Effect(kind, name, weights, against=against)


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
            ("" if crossing.columns[s] == column else "−") + " x ".join(crossing.factors[place].name for place in s)
            for s in same
        )
        name = crossing.named(chosen, (1,) * len(chosen))
        against = crossing.factors[chosen[0]].reference if len(chosen) == 1 else ""
        yield Effect("interaction" if len(chosen) > 1 else "main", name, weights, aliases, against=against)


def contrast(results: Results, weights: Weights, metric: Metric) -> SeedValues:
    """Return a contrast by seed: over the seeds that every arm in it has."""
    samples = {arm: results.values.get(arm, {}).get(metric.name, {}) for arm in weights}
    seeds = set.intersection(*(set(sample) for sample in samples.values())) if samples else set()
    return {seed: sum(weight * samples[arm][seed] for arm, weight in weights.items()) for seed in sorted(seeds)}


@dataclass(frozen=True)
class Judged:
    """An effect on one metric, with its test."""

    effect: Effect
    metric: Metric
    difference: Difference
    p: float | None
    """Student's paired t over the share of the error that may be spent; None where too few seeds say nothing."""
    p_holm: float | None
    """After Holm's correction over the main effects and interactions: one family on the headline metrics, one on the
    others."""

    @property
    def significant(self) -> bool:
        """Whether it differs from 0 after the correction."""
        return self.p_holm is not None and self.p_holm <= ALPHA


def judged_effects(results: Results) -> tuple[Judged, ...]:
    """Return every main effect and two-way interaction on every metric, none where arms are not crossed."""
    judged = [_judged(results, effect, metric) for effect in _effects(results) for metric in results.metrics]
    for headline in (True, False):
        family = [place for place, one in enumerate(judged) if (one.metric in results.headlines) == headline]
        for place, p in zip(family, holm([judged[place].p for place in family]), strict=True):
            judged[place] = replace(judged[place], p_holm=p)
    return tuple(judged)


def _judged(results: Results, effect: Effect, metric: Metric) -> Judged:
    values = contrast(results, effect.weights, metric)
    if not values:
        return Judged(effect, metric, Difference(), None, None)
    level = max(results.confidence(arm) for arm in effect.weights)
    p = t_p(list(values.values()))
    spent = None if p is None else min(1.0, p * ALPHA / (1 - level))
    return Judged(effect, metric, paired(values, dict.fromkeys(values, 0.0), level), spent, None)


def factors_table(results: Results) -> Table:
    """Return every main effect and two-way interaction on every metric, none where arms are not crossed."""
    rows = (_row(one) for one in judged_effects(results))
    return table("factors", "kind effect against aliases metric n delta low high p p_holm reason", rows)


def _row(one: Judged) -> Row:
    return {
        "kind": one.effect.kind,
        "effect": one.effect.name,
        "against": one.effect.against or None,
        "aliases": " + ".join(one.effect.aliases) or None,
        "metric": one.metric.name,
        "n": one.difference.pairs,
        **interval(one.difference),
        "p": one.p,
        "p_holm": one.p_holm,
        "reason": one.effect.reason or None,
    }


def _effects(results: Results) -> Iterator[Effect]:
    """Yield the effects of the design; where it has lost runs, those that the rest still give, and why not."""
    runs = runs_of(results)
    crossing = _crossing(results, runs)
    if crossing is not None:
        yield from effects_of(crossing)
    elif runs is not None:
        arms = {levels: arm for arm, levels in arms_by_levels(results, runs).items()}
        references = {name: labels[0] for name, labels in zip(runs.factors, runs.labels, strict=True)}
        for found in runs.contrasts():
            weights = zip(runs.kept, found.weights, strict=not found.reason) if found.weights else ()
            by_arm = {arms[run]: weight for run, weight in weights if abs(weight) > ROUNDING}
            against = references.get(found.name.partition("=")[0], "") if found.kind == "main" else ""
            yield Effect(found.kind, found.name, by_arm, found.aliases, found.reason, against)


def _crossing(results: Results, runs: Crossed | None) -> Crossing | None:
    """Return the crossing of a factorial's arms, of all arms where there is no factorial; None without all runs."""
    if runs is None:
        return crossing_of(results.arms, results.setting.baseline)
    if runs.missing:
        return None
    known = arms_by_levels(results, runs)
    arms = [arm for arm in results.arms if arm.name in known]
    return crossing_of(arms, results.setting.baseline, runs.factors)


def factors_grids(results: Results, found: Table) -> Iterator[Grid]:
    """Yield main effects and interactions on the metrics that a finding speaks of."""
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    titles = {"main": "Main effects: over all settings of the other factors"}
    titles["interaction"] = "Interactions: by how much one change alters the effect of the other"
    for kind, title in titles.items():
        rows = [row for row in found.rows if row["kind"] == kind and row["metric"] in decimals]
        aliased, lost = (any(row[name] for row in rows) for name in ("aliases", "reason"))
        columns = [Column("effect", numeric=False), Column("metric", numeric=False), Column("Δ [95%] (n)")]
        columns.append(Column("Holm's p"))
        columns += [Column("aliased with", numeric=False)] if aliased else []
        columns += [Column("not estimable: it", numeric=False)] if lost else []
        if rows:
            yield grid(f"factors {kind}", title, columns, (_cells(row, decimals, aliased, lost) for row in rows))


def _cells(row: Row, decimals: Mapping[str, int], aliased: bool, lost: bool) -> Iterator[str | Cell]:
    yield f"{row['effect']} against {row['against']}" if row["against"] else str(row["effect"])
    yield Metric(str(row["metric"])).title
    yield difference_cell(row, decimals[str(row["metric"])])
    yield p_text(number(row["p_holm"]))
    if aliased:
        yield str(row["aliases"] or NOTHING)
    if lost:
        yield str(row["reason"] or NOTHING)


def factors_note(results: Results, found: Table) -> Iterator[str]:
    """Yield what the effects are of, and what their p is corrected for."""
    headlines = {metric.name for metric in results.headlines}
    tested = sum(row["p"] is not None and row["metric"] in headlines for row in found.rows)
    if found.rows:
        yield (
            "Effects of the design are paired by seed. Holm's p: corrected over the "
            f"{tested} tests of main effects and interactions on {' and '.join(m.title for m in results.headlines)}."
        )
