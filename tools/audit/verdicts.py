"""Every arm against the baseline: results, corrected tests, equivalence, verdicts, variances."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy import stats

from tools.audit import budgets
from tools.audit.exports import BASELINE, LOSS, SCORE, Row
from tools.audit.families import Corrected, gated, holm, holm_with_levels, moderated_p
from tools.audit.inference import (
    ALPHA,
    NO_SPREAD,
    Estimate,
    detectable,
    difference,
    power,
    power_within,
    seeds_needed,
    sign_flip_p,
    variance,
)
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

TEXT = "text that describes the row"
RESAMPLES = 2000
LOW_SHARE = 0.5
"""A task of low variance has at most this share of the median task's standard deviation."""

Cell = tuple[str, str]


def results(study: Study, _: Published) -> Iterator[Row]:
    """Yield mean and difference of every arm on every metric."""
    costs = {arm.name: arm.costs for arm in study.export.arms}
    copies = budgets.copies(study)
    for arm in study.arms:
        for metric in study.metrics:
            found = Estimate() if arm == BASELINE else study.difference(arm, BASELINE, metric)
            interval = {name: cell for name, cell in study.interval(found, arm).items() if name != "n"}
            named = {"arm": arm, "metric": metric, **costs[arm]}
            at_budget = budgets.at_budget(study, arm, metric) if copies else {}
            yield {**named, **study.summary(arm, metric), **interval, **at_budget}


def forest(study: Study, _: Published) -> Iterator[Row]:
    """Yield the differences that the forest plot draws."""
    for metric in study.metrics:
        for arm in study.rivals if ":" not in metric else ():
            yield {"arm": arm, "metric": metric, **_pairs(study, study.difference(arm, BASELINE, metric), arm)}


def _pairs(study: Study, found: Estimate, *arms: str) -> Row:
    row = study.interval(found, *arms)
    return {"pairs": row.pop("n"), **row}


def effects(study: Study, _: Published) -> Iterator[Row]:
    """Yield the test of every arm on every metric with its verdict."""
    cells = {
        (arm, metric): study.difference(arm, BASELINE, metric) for metric in study.metrics for arm in study.rivals
    }
    corrected = _corrected(study, cells)
    equivalent = _equivalence(study, cells)
    for metric in study.metrics:
        moderated = moderated_p([study.of(arm, metric) for arm in (BASELINE, *study.rivals)])
        for arm, p_moderated in zip(study.rivals, moderated, strict=True):
            cell = (arm, metric)
            yield {
                "arm": arm,
                "metric": metric,
                **study.interval(cells[cell], arm),
                **_test(study, cell, cells[cell]),
                **_decision(study, cell, cells[cell], corrected[cell], equivalent[cell]),
                "p_moderated": p_moderated,
                **_improvement(study, cell),
            }


def _corrected(study: Study, cells: Mapping[Cell, Estimate]) -> dict[Cell, Corrected]:
    """Return the headline family behind its gate, and the family of all further cells."""
    headline = [(arm, metric) for metric in study.headlines for arm in study.rivals]
    further = [cell for cell in cells if cell[1] not in study.headlines]
    shares = [study.share(arm) for arm, _ in headline]
    found = dict(zip(headline, gated([cells[cell] for cell in headline], len(study.headlines), shares), strict=True))
    p_values = [_spent(study, cell, cells[cell].p) for cell in further]
    for cell, one in zip(further, holm_with_levels(p_values), strict=True):
        level = None if one.level is None else one.level * study.share(cell[0])
        found[cell] = Corrected(one.p, level)
    return found


def _spent(study: Study, cell: Cell, p: float | None) -> float | None:
    return None if p is None else min(1.0, p / study.share(cell[0]))


def _equivalence(study: Study, cells: Mapping[Cell, Estimate]) -> dict[Cell, float | None]:
    """Return the p of "not within the margin" (the larger of two one-sided), Holm over the arms of a metric."""
    found: dict[Cell, float | None] = {}
    for metric in study.metrics:
        margin, family = study.margins.get(metric), [cell for cell in cells if cell[1] == metric]
        p_values = [
            _spent(study, cell, max(cells[cell].p_above(-margin), cells[cell].p_below(margin)))
            if margin is not None and cells[cell].known
            else None
            for cell in family
        ]
        found |= dict(zip(family, holm(p_values), strict=True))
    return found


def _test(study: Study, cell: Cell, found: Estimate) -> Row:
    values, others = study.of(cell[0], cell[1]), study.of(BASELINE, cell[1])
    differences = [values[seed] - others[seed] for seed in sorted(values.keys() & others.keys())]
    diverged, trials = study.ended(cell[0])
    return {
        "test": "paired" if study.paired else "welch",
        "degrees": found.degrees if found.known else None,
        "p": _spent(study, cell, found.p),
        "p_paired": _spent(study, cell, difference(values, others, paired=True).p),
        "p_exact": sign_flip_p(differences),
        "diverged": diverged,
        "trials": trials,
    }


def _decision(study: Study, cell: Cell, found: Estimate, corrected: Corrected, equivalent: float | None) -> Row:
    verdict = _verdict(cell[1], found.value, corrected.p, equivalent)
    smallest = detectable(found.error, found.degrees, corrected.level or 0.0)
    row: Row = dict(zip(("smallest_effect", "detectable_low", "detectable_high"), smallest, strict=True))
    row |= {"p_adjusted": corrected.p, "level": corrected.level, "p_equivalence": equivalent, "verdict": verdict}
    row |= {"simultaneous_low": corrected.low, "simultaneous_high": corrected.high}
    undecided = verdict == "undecided" and found.known and corrected.level
    seeds = _seeds_to_decide(study, cell, found, corrected.level or 0.0) if undecided else None
    return {**row, "margin": study.margins.get(cell[1]), "seeds_to_decide": seeds}


def _verdict(metric: str, delta: float, p: float | None, equivalent: float | None) -> str:
    if equivalent is not None and equivalent <= ALPHA:
        return "no difference"
    if p is None or p > ALPHA:
        return "undecided"
    return "helps" if (delta < 0) == (metric == LOSS) else "hurts"


def _seeds_to_decide(study: Study, cell: Cell, found: Estimate, level: float) -> int | None:
    """Return the seeds for 80% power if the true difference and variances are the observed ones.

    The variance that the examples add is the same with more seeds, and limits no degrees of freedom.
    """
    values, others = study.of(cell[0], cell[1]), study.of(BASELINE, cell[1])
    shared = sorted(values.keys() & others.keys())
    samples = [[values[s] - others[s] for s in shared]] if study.paired else [[*values.values()], [*others.values()]]
    terms = [float(np.var(sample, ddof=1)) for sample in samples]
    of_examples = max(0.0, found.error**2 - sum(t / len(s) for t, s in zip(terms, samples, strict=True)))
    margin, last = study.margins.get(cell[1]), study.last_share
    at_last = level / study.share(cell[0]) * last

    def chance(seeds: int) -> float:
        of_seeds = sum(terms) / seeds
        error = math.sqrt(of_seeds + of_examples)
        degrees = sum(terms) ** 2 / sum(term**2 for term in terms) * (seeds - 1) * (error**2 / of_seeds) ** 2
        detected = power(abs(found.value) / error, degrees, at_last)
        if margin is None:
            return detected
        low, high = ((bound - found.value) / error for bound in (-margin, margin))
        return max(detected, power_within(low, high, degrees, 2 * ALPHA * last / len(study.rivals)))

    return seeds_needed(chance, found.n + 1)


def generator(purpose: str, *indices: int) -> np.random.Generator:
    """Return the stream of random numbers of a resampling, whose seed is the hash of its name."""
    name = ":".join(["0", purpose, *map(str, indices)])
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 1
    return np.random.Generator(np.random.Philox(key=seed))


def _improvement(study: Study, cell: Cell) -> Row:
    """Return the probability that a run scores higher on a task drawn at random, with its bootstrap interval."""
    names = ("improvement", "improvement_low", "improvement_high")
    scores = [_by_task(study, arm) for arm in (cell[0], BASELINE)]
    if cell[1] != SCORE or len(study.tasks) < 2 or min(each.shape[1] for each in scores) < 2:
        return dict.fromkeys(names)
    drawn = []
    for sample, name in zip(scores, ("first", "second"), strict=True):
        seeds = sample.shape[1]
        places = generator(f"task bootstrap {name}", 1, seeds).integers(seeds, size=(RESAMPLES, 1, seeds))
        drawn.append(np.stack([sample[:, place[0]] for place in places]))
    low, high = np.quantile(_higher(*drawn), (ALPHA / 2, 1 - ALPHA / 2))
    return dict(zip(names, (float(_higher(*scores)), float(low), float(high)), strict=True))


def _higher(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    signs = np.sign(scores[..., :, None] - others[..., None, :])
    return np.asarray((signs.mean(axis=(-3, -2, -1)) + 1) / 2)


def _by_task(study: Study, arm: str) -> np.ndarray:
    samples = [study.of(arm, task) for task in study.tasks]
    seeds = sorted(set.intersection(*map(set, samples))) if samples else []
    return np.array([[sample[seed] for seed in seeds] for sample in samples]).reshape(len(samples), len(seeds))


def noise(study: Study, _: Published) -> Iterator[Row]:
    """Yield the standard deviations of every metric, pooled over arms."""
    total = {metric: _pooled([study.of(arm, metric) for arm in study.arms]) for metric in study.metrics}
    tasks = [sd for metric, sd in total.items() if metric in study.tasks and sd is not None]
    for metric, sd in total.items():
        seeds = max(len(study.of(arm, metric)) for arm in study.arms)
        of_metric = [study.nested[arm].get(metric, {}) for arm in study.arms]
        within = [np.var(values, ddof=1) for sample in of_metric for values in sample.values() if len(values) > 1]
        sizes = [len(values) for sample in of_metric for values in sample.values()]
        nested = float(np.mean(within) / np.mean(sizes)) if within else 0.0
        degrees = (seeds - 1) * (1 if study.paired else 2)
        low = metric in study.tasks and sd is not None and len(tasks) > 1
        yield {
            "metric": metric,
            "n": seeds,
            "sd_pretraining": None if sd is None else math.sqrt(max(0.0, sd**2 - nested)),
            "sd_fine_tuning": math.sqrt(float(np.mean(within))) if within else None,
            "sd_difference": None if sd is None else sd * math.sqrt(2),
            "smallest_effect": None if sd is None else detectable(sd * math.sqrt(2 / seeds), degrees, ALPHA)[0],
            "low_variance": bool(sd is not None and sd <= LOW_SHARE * float(np.median(tasks))) if low else None,
        }


def _pooled(samples: Sequence[Mapping[int, float]]) -> float | None:
    known = [[*sample.values()] for sample in samples if len(sample) > 1]
    degrees = sum(len(sample) - 1 for sample in known)
    return math.sqrt(sum(variance(each) * (len(each) - 1) for each in known) / degrees) if degrees else None


def gain_of_pairing(study: Study, metric: str) -> tuple[float, float, float] | None:
    """Return the variance of paired differences over that of unpaired ones, with its 95% interval.

    The interval is that of the intraclass correlation in a two-way layout (Shrout and Fleiss 1979, ICC(3, 1)).
    """
    samples = [sample for arm in study.arms if (sample := study.of(arm, metric))]
    seeds = sorted(set.intersection(*map(set, samples))) if samples else []
    values = np.array([[sample[seed] for seed in seeds] for sample in samples])
    arms = len(samples)
    if arms < 2 or len(seeds) < 2 or values.var() == 0:
        return None
    pairs = [(values[one], values[other]) for one in range(arms) for other in range(one)]
    paired = float(np.mean([(one - other).var(ddof=1) for one, other in pairs]))
    unpaired = float(np.mean([one.var(ddof=1) + other.var(ddof=1) for one, other in pairs]))
    ratio, free = paired / unpaired, len(seeds) - 1
    if ratio <= NO_SPREAD:
        return 0.0, 0.0, 0.0
    f = arms / ratio - arms + 1
    bounds = stats.f.ppf([ALPHA / 2, 1 - ALPHA / 2], free, free * (arms - 1))
    low, high = (arms / (f / float(bound) + arms - 1) for bound in bounds)
    return ratio, low, high


RULES = {
    "results": Rule(("arm", "metric"), results, {"status": TEXT}),
    "effects": Rule(("arm", "metric"), effects),
    "noise": Rule(("metric",), noise),
    "forest": Rule(("arm", "metric"), forest),
}
