"""Main effects and two-way interactions of crossed designs, paired by seed. Montgomery 2017, chapters 5, 6 and 8.

A factor is what the design varied, with its values as levels; the baseline's is the first level. In a full factorial
an effect is the mean over all settings of the other factors. In a two-level fraction whose columns are orthogonal it
is the contrast of the halves, and every effect with the same column is named as its alias: no data of these runs
separates them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from analysis.contrasts import ROUNDING
from analysis.effects import Difference, SeedValues, paired
from analysis.paired import ALPHA, holm, t_p
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, p_text
from reports.section import Content, Section
from reports.sections.difference_cells import difference_cell
from reports.statistics.crossed import CrossedArms, crossed_arms, missing_runs_note
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, number, table

Weights = Mapping[str, float]
"""By arm; they sum to 0."""


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


def effects_of(crossed: CrossedArms) -> Iterator[Effect]:
    """Yield the main effects, then the two-way interactions; where runs are missing, why some are not estimable."""
    runs = crossed.design.remaining
    for found in crossed.design.contrasts():
        weights = zip(runs, found.weights, strict=True) if found.weights else ()
        by_arm = {crossed.arms[run]: weight for run, weight in weights if abs(weight) > ROUNDING}
        against = crossed.references[found.factors[0]] if found.kind == "main" else ""
        yield Effect(found.kind, found.name, by_arm, found.aliases, found.reason, against)


def contrast(results: Results, weights: Weights, metric: Metric) -> SeedValues:
    """Return a contrast by seed: over the seeds that every arm in it has."""
    samples = {arm: results.values.get(arm, {}).get(metric.name, {}) for arm in weights}
    seeds = set.intersection(*(set(sample) for sample in samples.values())) if samples else set()
    return {seed: sum(weight * samples[arm][seed] for arm, weight in weights.items()) for seed in sorted(seeds)}


@dataclass(frozen=True)
class TestedEffect:
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


def tested_effects(results: Results) -> tuple[TestedEffect, ...]:
    """Return every main effect and two-way interaction on every metric, none where arms are not crossed."""
    crossed = crossed_arms(results)
    effects = effects_of(crossed) if crossed else ()
    judged = [_judged(results, effect, metric) for effect in effects for metric in results.metrics]
    for headline in (True, False):
        family = [place for place, one in enumerate(judged) if (one.metric in results.headlines) == headline]
        for place, p in zip(family, holm([judged[place].p for place in family]), strict=True):
            judged[place] = replace(judged[place], p_holm=p)
    return tuple(judged)


def _judged(results: Results, effect: Effect, metric: Metric) -> TestedEffect:
    values = contrast(results, effect.weights, metric)
    if not values:
        return TestedEffect(effect, metric, Difference(), None, None)
    level = max(results.confidence(arm) for arm in effect.weights)
    p = t_p(list(values.values()))
    spent = None if p is None else min(1.0, p * ALPHA / (1 - level))
    return TestedEffect(effect, metric, paired(values, dict.fromkeys(values, 0.0), level), spent, None)


def factors_table(results: Results) -> Table:
    """Return every main effect and two-way interaction on every metric, none where arms are not crossed."""
    rows = (_row(one) for one in tested_effects(results))
    return table("factors", "kind effect against aliases metric n delta low high p p_holm reason", rows)


def _row(one: TestedEffect) -> Row:
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


def factors_grids(results: Results, found: Table) -> Iterator[Grid]:
    """Yield main effects and interactions on the headline metrics."""
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


def factors_notes(results: Results, found: Table) -> Iterator[str]:
    """Yield what the effects are of, and what their p is corrected for."""
    headlines = {metric.name for metric in results.headlines}
    tested = sum(row["p"] is not None and row["metric"] in headlines for row in found.rows)
    if found.rows:
        yield (
            "Effects of the design are paired by seed. Holm's p: corrected over the "
            f"{tested} tests of main effects and interactions on {' and '.join(m.title for m in results.headlines)}."
        )


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    effects, lost = factors_table(results), tuple(filter(None, [missing_runs_note(results)]))
    grids = tuple(factors_grids(results, effects))
    if not grids:
        return Content((effects,), notes_on_results=lost)
    notes = [*lost, *factors_notes(results, effects)]
    return Content((effects,), (with_notes(grids[0], notes), *grids[1:]))


SECTION = Section("factors", _content, lambda evidence: not evidence.results.is_search)
