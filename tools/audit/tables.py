"""The tables of a report, recomputed: results, effects with verdicts, pairs of arms, Shapley values."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

import numpy as np

from tools.audit.inference import ALPHA, Estimate, contrast, gated, holm
from tools.audit.plateau import share_of_means
from tools.audit.rows import BASELINE, LOSS, Row, Study

NOT_TESTABLE = "not testable at this size"
TESTS = ("p_adjusted", "level", "simultaneous_low", "simultaneous_high")
Cell = tuple[str, str]  # a metric, and an arm that is compared with the baseline on it


def results(study: Study) -> Iterator[Row]:
    """Yield mean, standard deviation and difference from the baseline of every arm on every metric."""
    for metric in study.metrics:
        for arm in study.arms:
            found = Estimate() if arm == BASELINE else study.difference(metric, arm)
            values = [*study.values[metric][arm].values()]
            mean = np.mean(values) if values else math.nan
            sd = np.std(values, ddof=1) if len(values) > 1 else math.nan
            yield {"arm": arm, "metric": metric, **found.columns, "n": len(values), "mean": mean, "sd": sd}


def effects(study: Study) -> Iterator[Row]:
    """Yield the test of every arm on every metric with its verdict."""
    margins = study.margins(study.paper.get("margins", {}) | study.document.get("equivalence_margin", {}))
    cells = {cell: study.difference(*cell) for cell in product(study.metrics, study.rivals)}
    share = share_of_means(study.exits)
    corrected, declared = _corrected(study, cells, share), study.document.get("comparison", "welch")
    for metric in study.metrics:
        margin, estimates = margins.get(metric, math.nan), [cells[metric, arm] for arm in study.rivals]
        equivalent = holm([max(each.tails(-margin)[0], each.tails(margin)[1]) for each in estimates], share)[0]
        for arm, found, within in zip(study.rivals, estimates, equivalent, strict=True):
            paired, seeds = (
                contrast([study.values[metric][each] for each in (arm, BASELINE)], (1.0, -1.0), (), paired=each)
                for each in (True, declared == "paired")
            )
            same = all(map(math.isclose, (seeds.degrees, seeds.error), (found.degrees, found.error)))
            test = declared if same or math.isnan(found.degrees) else "seeds_and_examples"
            tests = dict(zip(TESTS, corrected[metric, arm], strict=True))
            verdict = "helps" if (found.value < 0) == (metric == LOSS) else "hurts"
            verdict = verdict if tests["p_adjusted"] <= ALPHA else "undecided"
            row = {
                "arm": arm,
                "metric": metric,
                **found.columns,
                "degrees": found.degrees,
                "p": _spent(found.p, share),
                **tests,
            }
            row |= {"test": test, "p_paired": _spent(paired.p, share), "margin": margin, "p_equivalence": within}
            verdict = "no difference" if within <= ALPHA else verdict
            untestable = metric.partition(":")[0] in study.below or study.few_learners([arm, BASELINE])
            yield {**row, "verdict": NOT_TESTABLE if untestable else verdict}


def _spent(p: float, share: float) -> float:
    return float(np.minimum(1.0, p / share))


def _corrected(study: Study, cells: Mapping[Cell, Estimate], share: float) -> dict[Cell, np.ndarray]:
    """Return the headline family behind its gate, without arms that have no test in it, and all further cells."""
    arms = [arm for arm in study.rivals if any(cells[metric, arm].error > 0 for metric in study.headlines)]
    headline = list(product(study.headlines, arms))
    further = [cell for cell in cells if cell[0] not in study.headlines]
    found = dict.fromkeys(cells, np.full(len(TESTS), math.nan))
    if headline:
        found |= zip(headline, gated([cells[cell] for cell in headline], len(study.headlines), share).T, strict=True)
    return found | dict(zip(further, holm([cells[cell].p for cell in further], share).T, strict=True))


def isolated(study: Study) -> Iterator[Row]:
    """Yield the difference of every two arms of which one has one change more; the baseline is in none."""
    changes = {arm: json.loads(row["changes"]) for arm, row in study.arms.items()}
    for arm, reference in permutations(() if study.searched else study.rivals, 2):
        own, other = changes[arm], changes[reference]
        if other and len(own) == len(other) + 1 and all(own.get(path) == value for path, value in other.items()):
            for metric in study.metrics:
                found = study.difference(metric, arm, reference)
                yield {"arm": arm, "reference": reference, "metric": metric, **found.columns}


def shapley(study: Study) -> Iterator[Row]:
    """Yield the mean of what each component adds over all orders of adding them, and what all of them add."""
    arms = _arms_by_components(study)
    names = sorted(max(arms, key=len, default=()))
    values: dict[str, dict[str, float]] = {name: defaultdict(float) for name in names}
    for order in permutations(names):
        for at, name in enumerate(order):
            values[name][arms[frozenset(order[: at + 1])]] += 1 / math.factorial(len(names))
            values[name][arms[frozenset(order[:at])]] -= 1 / math.factorial(len(names))
    values["all changes together"] = {arms.get(frozenset(names), ""): 1.0, BASELINE: -1.0}
    for metric in study.metrics if arms else ():
        found = {name: study.contrast(weights, metric) for name, weights in values.items()}
        whole = [*found.values()][-1]
        for name, each in found.items():
            share = each.value / whole.value if whole.p <= ALPHA else math.nan
            yield {"factor": name, "metric": metric, **each.columns, "share": share}


def _arms_by_components(study: Study) -> dict[frozenset[str], str]:
    """Return the arm with each set of components, those of a design or the changes of a list; else nothing."""
    levels = {arm: json.loads(study.arms[arm]["levels"] or "{}") for arm in study.rivals}
    for names in (design.get("components", {}).keys() for design in study.designs):
        chosen = {arm: [name for name in names if of[name]] for arm, of in levels.items() if names <= of.keys()}
        found = {frozenset(there): arm for arm, there in chosen.items()} | {frozenset(): BASELINE}
        if len(found) == 2 ** len(names) > 2:
            return found
    changes = {arm: json.loads(row["changes"]).items() for arm, row in study.arms.items()}
    found = {frozenset(_label(*change) for change in made): arm for arm, made in changes.items()}
    return found if len(found) == 2 ** len(frozenset().union(*found)) > 2 else {}


def _label(path: str, value: Any) -> str:
    """Return a change as `path=value`, of an option with its setting or, without one, its kind."""
    if isinstance(value, dict):
        name, value = max(value.items(), key=lambda setting: setting[0] != "kind")
        path = path if name == "kind" else f"{path}.{name}"
    return f"{path}={value}"
