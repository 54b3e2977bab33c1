"""Contrasts of arms: main effects and interactions, single changes, an axis and a ladder."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from tools.audit.component_sets import with_all_sets
from tools.audit.exports import BASELINE, Arm, Row
from tools.audit.families import holm
from tools.audit.inference import Estimate
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

ROUNDING = 1e-8
NAMES_SHOWN = 4
Levels = tuple[int, ...]
Weights = dict[str, float]
"""By arm."""


@dataclass(frozen=True)
class Factorial:
    """A full factorial by levels, the reference level of every factor first; some of its runs may be missing."""

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    arms: Mapping[Levels, str]

    @property
    def runs(self) -> list[Levels]:
        """Every combination of levels."""
        return list(product(*(range(len(values)) for values in self.values)))

    @property
    def missing(self) -> bool:
        """Whether a combination is no arm."""
        return len(self.arms) < len(self.runs)

    def label(self, factor: int, level: int) -> str:
        """Return a level with its factor's name; a component that is there has its own name alone."""
        value = self.values[factor][level]
        return self.names[factor] if value is True else f"{self.names[factor]}={value}"

    def reference(self, factor: int) -> str:
        """Return the reference level as text; nothing for a component."""
        value = self.values[factor][0]
        return "" if isinstance(value, bool) else str(value)


def narrowed(study: Study, path: str, value: Any) -> tuple[str, Any]:
    """Return the path and value of the one setting of an option that a change sets; the change where it is more."""
    before: Any = next((arm.candidate for arm in study.export.arms if arm.name == BASELINE), {})
    for part in path.split("."):
        before = before.get(part) if isinstance(before, dict) else None
    if isinstance(value, dict) and isinstance(before, dict) and before.get("kind") == value.get("kind"):
        other = [name for name in value if value[name] != before.get(name)]
        if len(other) == 1:
            return f"{path}.{other[0]}", value[other[0]]
    return path, value["kind"] if isinstance(value, dict) and [*value] == ["kind"] else value


def _switched(study: Study) -> list[Arm]:
    """Return the arms of a list with a level for each single change, made or not; none where an arm is missing."""
    changes = {arm.name: [narrowed(study, *each) for each in arm.changes.items()] for arm in study.export.arms}
    if not all(isinstance(value, str | int | float) for made in changes.values() for _, value in made):
        return []
    single = sorted((made[0] for made in changes.values() if len(made) == 1), key=str)
    names = {change: "{}={}".format(*change) for change in single}
    if len({frozenset(made) for made in changes.values()}) < len(changes) or len(changes) != 2 ** len(names):
        return []
    return [
        Arm(arm.name, arm.candidate, arm.changes, {n: c in changes[arm.name] for c, n in names.items()}, arm.costs)
        for arm in study.export.arms
    ]


def factorial_of(study: Study) -> Factorial | None:
    """Return the factorial that the arms form, or those with every set of a design's components; None without."""
    return _crossed(study, [arm for arm in study.export.arms if arm.levels] or _switched(study)) or _crossed(
        study, with_all_sets(study)
    )


def _crossed(study: Study, arms: Sequence[Arm]) -> Factorial | None:
    names = tuple(dict.fromkeys(name for arm in arms for name in arm.levels))
    varied = [design["vary"] for design in study.export.designs if design.get("kind") == "factorial"]
    if not names or len(varied) > 1 or any(name not in arm.levels for arm in arms for name in names):
        return None
    if len(names) < 2 and not varied:  # one factor crosses with none
        return None
    own = next((arm.levels for arm in arms if arm.name == BASELINE), {})
    if not own and all(isinstance(arm.levels[name], bool) for arm in arms for name in names):
        own = dict.fromkeys(names, False)
        arms = [Arm(BASELINE, {}, {}, own, {}), *arms]
    declared = varied[0] if varied else {}
    values = [_unique([*declared.get(name, []), *(arm.levels[name] for arm in arms)]) for name in names]
    points = math.prod(map(len, values))
    if len(arms) == points and own:  # effects are against the baseline's levels
        values = [_unique([own[name], *of_factor]) for name, of_factor in zip(names, values, strict=True)]
    if len(arms) < points and not varied:
        return None
    runs = {tuple(v.index(arm.levels[n]) for n, v in zip(names, values, strict=True)): arm.name for arm in arms}
    return Factorial(names, tuple(map(tuple, values)), runs)


def _unique(values: Sequence[Any]) -> list[Any]:
    return [json.loads(text) for text in dict.fromkeys(json.dumps(value, sort_keys=True) for value in values)]


@dataclass(frozen=True)
class Effect:
    """A main effect or interaction as a weighted sum of arms; no weights where it cannot be estimated."""

    kind: str
    name: str
    against: str
    weights: Weights


def effects_of(design: Factorial) -> Iterator[Effect]:
    """Yield every main effect against the reference level, then every interaction of two factors.

    With missing runs the weights are those of least squares under a model of main effects and interactions; a main
    effect that is lost is averaged over the settings at which both levels are there.
    """
    places = range(len(design.names))
    terms = [
        (factors, levels)
        for factors in [*((place,) for place in places), *combinations(places, 2)]
        for levels in product(*(range(1, len(design.values[place])) for place in factors))
    ]
    there = [run for run in design.runs if run in design.arms]
    inverse = np.linalg.pinv(_model(design, terms, there), rcond=ROUNDING)
    for factors, levels in terms:
        kind = "main" if len(factors) == 1 else "interaction"
        name = " x ".join(design.label(*each) for each in zip(factors, levels, strict=True))
        against = design.reference(factors[0]) if kind == "main" else ""
        whole = _contrast(design, factors, levels)
        target = whole @ _model(design, terms, design.runs)
        weights = target @ inverse
        if np.abs(weights @ _model(design, terms, there) - target).max() <= ROUNDING:
            found = zip(there, whole if not design.missing else weights, strict=True)
            yield Effect(kind, name, against, {design.arms[run]: w for run, w in found if abs(w) > ROUNDING})
        elif kind == "main" and (pairs := _pairs(design, factors[0], levels[0])):
            settings = first_names([_setting(design, factors[0], run) for run, _ in pairs])
            share = 1 / len(pairs)
            by_arm = {design.arms[run]: share for run, _ in pairs} | {design.arms[r]: -share for _, r in pairs}
            yield Effect(kind, f"{name} (where both are: {settings})", against, by_arm)
        else:
            yield Effect(kind, name, against, {})


def _model(design: Factorial, terms: Sequence[tuple[Levels, Levels]], runs: Sequence[Levels]) -> np.ndarray:
    rows = [[1.0, *(float(all(run[f] == at for f, at in zip(*term, strict=True))) for term in terms)] for run in runs]
    return np.array(rows)


def _contrast(design: Factorial, factors: Levels, levels: Levels) -> np.ndarray:
    """Return the weights of a difference (of differences) over all runs, averaged over the other factors."""
    others = math.prod(len(values) for place, values in enumerate(design.values) if place not in factors)

    def sign(run: Levels) -> int:
        return math.prod(
            1 if run[f] == at else -1 if run[f] == 0 else 0 for f, at in zip(factors, levels, strict=True)
        )

    return np.array([sign(run) / others for run in design.runs])


def _pairs(design: Factorial, factor: int, level: int) -> list[tuple[Levels, Levels]]:
    runs = [run for run in design.runs if run[factor] == level]
    pairs = [(run, (*run[:factor], 0, *run[factor + 1 :])) for run in runs]
    return [(run, other) for run, other in pairs if run in design.arms and other in design.arms]


def _setting(design: Factorial, factor: int, run: Levels) -> str:
    varied = [place for place, values in enumerate(design.values) if place != factor and len(values) > 1]
    return " and ".join(design.label(place, run[place]) for place in varied)


def first_names(names: Sequence[str]) -> str:
    """Return the first four names and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{', '.join(names[:NAMES_SHOWN])}{more}"


def factors(study: Study, _: Published) -> Iterator[Row]:
    """Yield every effect on every metric, Holm's p over the headline metrics and over the others."""
    design = factorial_of(study)
    effects = [] if design is None else list(effects_of(design))
    for family in (study.headlines, [m for m in study.metrics if m not in study.headlines]):
        cells = [(effect, metric) for effect in effects for metric in family]
        found = [study.contrast(effect.weights, metric) for effect, metric in cells]
        shares = [study.share(*effect.weights) if effect.weights else 1.0 for effect, _ in cells]
        p_values = [None if f.p is None else min(1.0, f.p / s) for f, s in zip(found, shares, strict=True)]
        for (effect, metric), one, p, p_holm in zip(cells, found, p_values, holm(p_values), strict=True):
            named = {"kind": effect.kind, "effect": effect.name, "against": effect.against or None, "metric": metric}
            degrees = one.degrees if one.known else None
            yield {**named, **study.interval(one, *effect.weights), "degrees": degrees, "p": p, "p_holm": p_holm}


def isolated(study: Study, _: Published) -> Iterator[Row]:
    """Yield the difference of every pair of arms of which one has one change more; the baseline is in none."""
    for arm in study.export.arms:
        for reference in study.export.arms:
            path = _single_change(study, arm, reference)
            for metric in study.metrics if path else ():
                found = study.difference(arm.name, reference.name, metric)
                named = {"arm": arm.name, "reference": reference.name, "path": path, "metric": metric}
                yield {**named, **study.interval(found, arm.name, reference.name)}


def _single_change(study: Study, arm: Arm, reference: Arm) -> str | None:
    extra = [path for path in arm.changes if path not in reference.changes]
    kept = all(arm.changes.get(path) == change for path, change in reference.changes.items())
    shared = [name for name in arm.levels if name in reference.levels]
    differing = [name for name in shared if arm.levels[name] != reference.levels[name]]
    if not reference.changes or len(extra) != 1 or not kept:
        return None
    return differing[0] if len(differing) == 1 else narrowed(study, extra[0], arm.changes[extra[0]])[0]


def axis(study: Study, published: Published) -> Iterator[Row]:
    """Yield the arms along an axis, each against the arm at the line's reference value."""
    at_reference = {(row["metric"], row["line"]): row["arm"] for row in published if row["value"] == row["reference"]}
    for row in published:
        reference = at_reference[row["metric"], row["line"]]
        yield {**row, **_against(study, row["arm"], reference, row["metric"])}


def ladder(study: Study, published: Published) -> Iterator[Row]:
    """Yield the rungs of a ladder, each against the one before."""
    costs = {arm.name: arm.costs for arm in study.export.arms}
    rungs = list(dict.fromkeys(row["arm"] for row in published))
    for row in published:
        place = rungs.index(row["arm"])
        yield {**row, **costs[row["arm"]], **_against(study, row["arm"], rungs[max(0, place - 1)], row["metric"])}


def _against(study: Study, arm: str, other: str, metric: str) -> Row:
    found = Estimate() if arm == other else study.difference(arm, other, metric)
    row = study.interval(found, arm, other)
    summary = study.summary(arm, metric)
    return {"pairs": row.pop("n"), **row, "n": summary["n"], "mean": summary["mean"]}


SETTING = "a setting of the arm or of the figure, no measurement"
RULES = {
    "factors": Rule(
        ("kind", "effect", "metric"), factors, {"aliases": "text of fractions", "reason": "text that names a loss"}
    ),
    "isolated": Rule(("arm", "reference", "path", "metric"), isolated),
    "axis": Rule(("axis", "metric", "line", "arm"), axis, dict.fromkeys(("cover", "reference", "value"), SETTING)),
    "ladder": Rule(("rung", "arm", "metric"), ladder),
}
