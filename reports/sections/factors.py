"""Main effects and two-way interactions of crossed designs as contrasts of arms. Montgomery 2017, chapters 5 and 6.

A factor is a field that the design varies, its values are the levels, and the baseline's value is the first level. In
a full factorial an effect is the mean over all settings of the other factors. By Welch's t the variances of all arms
enter, and Satterthwaite's degrees of freedom add up (`analysis/effects.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reports.number_format import NOTHING, counted, interval_text_with_n, listed
from reports.section import METRIC, Content, Section, delta, p_value
from reports.statistics.comparisons import TEST_NAMES
from reports.statistics.contrasts import Weights
from reports.statistics.crossed import CrossedArms, crossed_arms, missing_runs_note
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Column, Grid, Row, Table, compared, shown, words
from steeplechase.analysis.contrasts import ROUNDING, Contrast, first_names
from steeplechase.analysis.difference import ALPHA, Difference, MeanTest
from steeplechase.analysis.paired import holm
from steeplechase.ledger.stage_results import finite

TITLES = {
    "main": "Main effects: mean over all settings of the other factors",
    "interaction": "Interactions: change in one factor's effect between levels of the other",
}
CROSSED = 2
"""Minimum number of factors of a crossed design whose effects the finding reports."""
NAMED = 2
"""Maximum number of effects named in a clause."""
KINDS = {"main": ("main effect", "main effects"), "interaction": ("interaction", "interactions")}
SATTERTHWAITE = " with Satterthwaite's degrees of freedom"


@dataclass(frozen=True)
class Effect:
    """A contrast of arms; `kind` is main or interaction."""

    kind: str
    name: str
    weights: Weights
    reason: str = ""
    """Why it cannot be estimated; empty where it can."""
    against: str = ""
    """The reference level of a main effect; empty where it is not known."""

    @property
    def title(self) -> str:
        """The name with the reference level: `heads=2 against 4`."""
        return f"{self.name} against {self.against}" if self.against else self.name


def effects_of(crossed: CrossedArms) -> Iterator[Effect]:
    """Yield the main effects, then the two-way interactions, each with the reason if it is not estimable."""
    runs = crossed.design.remaining
    for contrast in crossed.design.contrasts():
        if partly := _where_both_levels_are(crossed, contrast):
            yield partly
            continue
        weights = zip(runs, contrast.weights, strict=True) if contrast.weights else ()
        by_arm = {crossed.arms[run]: weight for run, weight in weights if abs(weight) > ROUNDING}
        against = crossed.references[contrast.factors[0]] if contrast.kind == "main" else ""
        yield Effect(contrast.kind, contrast.name, by_arm, contrast.reason, against)


def _where_both_levels_are(crossed: CrossedArms, contrast: Contrast) -> Effect | None:
    """Return a main effect that is lost with missing runs, over the settings of other factors that have both levels.

    None for an estimable effect, an interaction, and where no setting has both levels.
    """
    if not contrast.reason or contrast.kind != "main":
        return None
    place, runs = contrast.factors[0], set(crossed.design.remaining)
    level = crossed.design.level_names[place].index(contrast.name)
    pairs = [(run, (*run[:place], 0, *run[place + 1 :])) for run in sorted(runs) if run[place] == level]
    pairs = [(run, reference) for run, reference in pairs if reference in runs]
    if not pairs:
        return None
    weights = {crossed.arms[run]: 1 / len(pairs) for run, _ in pairs}
    weights |= {crossed.arms[reference]: -1 / len(pairs) for _, reference in pairs}
    others = [names for at, names in enumerate(crossed.design.level_names) if at != place]
    settings = [
        " and ".join(
            names[at] for names, at in zip(others, (*run[:place], *run[place + 1 :]), strict=True) if len(names) > 1
        )
        for run, _ in pairs
    ]
    name = f"{contrast.name} (where both are: {first_names(settings)})"
    return Effect("main", name, weights, against=crossed.references[place])


@dataclass(frozen=True)
class TestedEffect:
    """An effect on one metric, with its test."""

    effect: Effect
    metric: Metric
    difference: Difference
    degrees: float | None
    """Degrees of freedom of the test that decides."""
    p: float | None
    """Two-sided p of that test, divided by the share of α spent at this look; None with too few seeds."""
    p_holm: float | None
    """After Holm's correction over the main effects and interactions: one family on the headline metrics, one on the
    others."""

    @property
    def significant(self) -> bool:
        """Whether the effect is statistically significant after Holm's correction."""
        return self.p_holm is not None and self.p_holm <= ALPHA


def tested_effects(results: Results) -> tuple[TestedEffect, ...]:
    """Return every main effect and two-way interaction on every metric, none where arms are not crossed."""
    crossed = crossed_arms(results)
    effects = effects_of(crossed) if crossed else ()
    tested = [_tested(results, effect, metric) for effect in effects for metric in results.metrics]
    for headline in (True, False):
        family = [
            position for position, effect in enumerate(tested) if (effect.metric in results.headlines) == headline
        ]
        for position, p in zip(family, holm([tested[position].p for position in family]), strict=True):
            tested[position] = replace(tested[position], p_holm=p)
    return tuple(tested)


def _tested(results: Results, effect: Effect, metric: Metric) -> TestedEffect:
    without = [arm for arm in effect.weights if not results.values.get(arm, {}).get(metric.name)]
    if without:
        needed = f"{first_names(without)}, without a value of {metric.title}"
        needed = "models that left the plateau of the loss" if results.none_learns else needed
        effect = replace(effect, reason=f"needs {needed}")
    if effect.reason:
        return TestedEffect(effect, metric, Difference(), None, None, None)
    found = results.contrasts.estimate(effect.weights, metric.name)
    p, degrees = finite(found.p().item()), finite(found.degrees.item())
    level = max(results.confidence(arm) for arm in effect.weights)
    spent = None if p is None else min(1.0, p * ALPHA / (1 - level))
    difference = results.contrast(effect.weights, metric)
    return TestedEffect(effect, metric, difference, None if p is None else degrees, spent, None)


def _row(tested: TestedEffect) -> Row:
    return {
        "kind": tested.effect.kind,
        "effect": tested.effect.name,
        "against": tested.effect.against or None,
        "metric": tested.metric.name,
        **compared(tested.difference),
        "degrees": tested.degrees,
        "p": tested.p,
        "p_holm": tested.p_holm,
        "reason": tested.effect.reason or None,
    }


def _grids(results: Results, factors: Table, notes: Sequence[str]) -> Iterator[Grid]:
    """Yield main effects and interactions on the headline metrics; the first grid has the notes."""
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}
    named = words(
        "effect", lambda row: f"{row['effect']} against {row['against']}" if row["against"] else row["effect"]
    )
    rows_of = {
        kind: [row for row in factors.rows if row["kind"] == kind and row["metric"] in decimals] for kind in TITLES
    }
    lost = {kind: reason for kind, rows in rows_of.items() if (reason := _only_reason(rows))}
    notes = [*notes, *(f"{TITLES[kind].partition(':')[0]} cannot be estimated: each {lost[kind]}." for kind in lost)]
    for kind, rows in rows_of.items():
        if kind == "interaction" and kind in lost:  # rows of dashes
            continue
        columns = [named, METRIC, delta(decimals), Column("Holm's p", read=p_value("p_holm"))]
        if any(row["reason"] for row in rows) and kind not in lost:
            columns.append(words("why not estimable", lambda row: str(row["reason"] or NOTHING)))
        for grid in shown(f"factors {kind}", TITLES[kind], columns, rows, notes):
            yield grid
            notes = ()


def _only_reason(rows: Sequence[Row]) -> str:
    """Return the reason why no effect can be estimated where it is that of all of them; empty elsewhere."""
    reasons = {str(row["reason"] or "") for row in rows}
    return reasons.pop() if len(reasons) == 1 and len(rows) > 1 else ""


def _notes(results: Results, factors: Table) -> Iterator[str]:
    """Yield how effects are tested and over which tests their p is corrected."""
    headlines = {metric.name for metric in results.headlines}
    tested = sum(row["p"] is not None and row["metric"] in headlines for row in factors.rows)
    if factors.rows:
        yield (
            f"Effects of the design are contrasts of {_arms_of_design(results)}, tested by {TEST_NAMES[results.test]}"
            f"{SATTERTHWAITE if results.test is MeanTest.WELCH else ''}. Holm's p: corrected over the "
            f"{counted(tested, 'test')} of main effects and interactions on "
            f"{' and '.join(m.title for m in results.headlines)}."
        )


def _arms_of_design(results: Results) -> str:
    """Return which arms the effects are contrasts of, with the factors that have several levels."""
    crossed = crossed_arms(results)
    if crossed is None or len(crossed.arms) == len(results.arms):
        return "all its arms"
    names = zip(crossed.design.factors, crossed.design.level_names, strict=True)
    varied = ", ".join(name for name, levels in names if len(levels) > 1)
    return f"the {counted(len(crossed.arms), 'arm')} that vary {varied}"


def _clauses(results: Results) -> Iterator[str]:
    """Yield for each metric the statistically significant main effects and interactions; none without a test.

    A design with a single factor has no clause: its effects are differences of arms, which the finding reports.
    """
    effects, metrics = results.once(tested_effects), results.measured_headlines
    if len({test.effect.name.partition("=")[0] for test in effects if test.effect.kind == "main"}) < CROSSED:
        return
    tested = [test for test in effects if test.metric in metrics and test.difference.low is not None]
    tests = sum(test.p is not None for test in tested)
    for metric in metrics if tests else ():
        on_metric = [test for test in tested if test.metric == metric]
        if on_metric:
            label = f"significant after Holm's correction over {counted(tests, 'test')}"
            not_estimable = sum(bool(test.effect.reason) for test in effects if test.metric == metric)
            remainder = f" ({not_estimable} more not estimable)" if not_estimable else ""
            yield f"on {metric.title} {_counted(on_metric)}{remainder} are {label}{_named(results, on_metric)}"


def _counted(effects: Sequence[TestedEffect]) -> str:
    parts = []
    for kind, (singular, plural) in KINDS.items():
        of_kind = [test for test in effects if test.effect.kind == kind]
        significant = sum(test.significant for test in of_kind)
        if of_kind:
            parts.append(f"{significant or 'none'} of {len(of_kind)} {singular if len(of_kind) == 1 else plural}")
    return " and ".join(parts)


def _named(results: Results, effects: Sequence[TestedEffect]) -> str:
    """Return the significant effects; without one, those whose uncorrected interval excludes 0, labelled as such."""
    significant = [test for test in effects if test.significant]
    uncorrected = [test for test in effects if test.p is not None and test.difference.excludes_zero]
    named = sorted(significant or uncorrected, key=lambda test: test.p or 0.0)
    if not named:
        return ""
    decimals = results.decimals(effects[0].metric)
    texts = [f"{test.effect.title} (Δ {interval_text_with_n(test.difference, decimals)})" for test in named]
    how = ", namely" if significant else "; significant without correction only:"
    return f"{how} {listed(texts, NAMED)}"


def _content(results: Results) -> Content:
    effects = Table.of("factors", map(_row, results.once(tested_effects)))
    missing_runs = tuple(filter(None, [missing_runs_note(results)]))
    grids = tuple(_grids(results, effects, (*missing_runs, *_notes(results, effects))))
    return Content((effects,), grids, notes_on_results=() if grids else missing_runs)


SECTION = Section("factors", _content, lambda results: not results.is_search, _clauses)
