"""The tables of a report, recomputed.

A claim says that a difference lies between two bounds. It is supported where "outside" is rejected, contradicted
where "inside" is: Holm's correction over each, together at 5%; claims and orderings of the paper, tested or not, are
one family.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate, stats

from tools.audit.inference import ALPHA, BASELINE, Estimate, contrast, gated, holm
from tools.audit.rows import LOSS, Row, Study

NOT_TESTED = "not testable at this size"
CLAIM = re.compile(r"(\S+?)\((.+)\) ([<>~]) (\S+?)\((.+)\)(?: (?:by|within) (\S+))?")
SUPPORTED, CONTRADICTED, OPEN = "as stated here", "opposite here", "open here"
Counts = Mapping[str, tuple[int, int]]  # by arm how many seeds left the plateau of the loss, and of how many


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
    share = share_of_means(study.counts)
    corrected = _corrected(study, cells, share)
    for metric in study.metrics:
        margin, estimates = margins.get(metric, math.nan), [cells[metric, arm] for arm in study.rivals]
        equivalent = holm([max(each.tails(-margin)[0], each.tails(margin)[1]) for each in estimates], share)
        for arm, found, within in zip(study.rivals, estimates, equivalent, strict=True):
            verdict = "helps" if (found.value < 0) == (metric == LOSS) else "hurts"
            verdict = verdict if corrected[metric, arm] <= ALPHA else "undecided"
            row = {"arm": arm, "metric": metric, **found.columns, "p": float(np.minimum(1.0, found.p / share))}
            row |= {"p_adjusted": corrected[metric, arm], "margin": margin, "p_equivalence": within}
            verdict = "no difference" if within <= ALPHA else verdict
            yield {**row, "verdict": NOT_TESTED if study.cannot_judge(metric, arm, BASELINE) else verdict}


def _corrected(study: Study, cells: Mapping[Any, Estimate], share: float) -> dict[Any, float]:
    """Return the headline family behind its gate, without arms that have no test in it, and all further cells."""
    arms = [arm for arm in study.rivals if any(cells[metric, arm].error > 0 for metric in study.headlines)]
    headline = list(product(study.headlines, arms))
    further = [cell for cell in cells if cell[0] not in study.headlines]
    found = dict.fromkeys(cells, math.nan)
    if headline:
        found |= zip(headline, gated([cells[cell] for cell in headline], len(study.headlines), share), strict=True)
    return found | dict(zip(further, holm([cells[cell].p for cell in further], share), strict=True))


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
    if isinstance(value, dict):
        name, value = max(value.items(), key=lambda setting: setting[0] != "kind")
        path = path if name == "kind" else f"{path}.{name}"
    return f"{path}={value}"


def plateau(study: Study) -> Iterator[Row]:
    """Yield the number of seeds that left the plateau of the loss by arm, with its test against the baseline."""
    tests = _of_learning(study.counts)
    adjusted = holm([p if can else math.nan for p, can in tests.values()], share_of_means(study.counts))
    for (arm, (p, can)), corrected in zip(tests.items(), adjusted, strict=True):
        counted = dict(zip(("left", "seeds"), study.counts[arm], strict=True))
        yield {"arm": arm, **counted, "p_fisher": p, "p_adjusted": corrected if can else p}


def share_of_means(counts: Counts) -> float:
    """Return the share of alpha that tests of means have: half where Fisher's test of an arm could be significant."""
    return 0.5 if any(can for _, can in _of_learning(counts).values()) else 1.0


def _of_learning(counts: Counts) -> dict[str, tuple[float, bool]]:
    """Return by arm the p of Fisher's test, and whether it could be significant with as many seeds that left."""
    found = dict.fromkeys(counts, (math.nan, False))
    for arm, (left, seeds) in counts.items() if BASELINE in counts else ():
        of_baseline, in_baseline = counts[BASELINE]
        together = left + of_baseline
        ways = left, max(0, together - in_baseline), min(together, seeds)
        tables = ([[k, seeds - k], [together - k, in_baseline - together + k]] for k in ways)
        p, *ends = (float(stats.fisher_exact(table).pvalue) for table in tables)
        found[arm] = (math.nan, False) if arm == BASELINE else (p, min(ends) <= ALPHA)
    return found


def tokens_to_loss(study: Study) -> Iterator[Row]:
    """Yield how every arm reaches the loss; nothing of a search, or where the loss is no headline metric.

    The loss is the declared one, or the lowest that every finished seed of the baseline that learned reached.
    Tokens between two evaluations are linear in their logarithm; ratios are differences of mean logarithms.
    """
    loss, declared = _target(study), study.document.get("target_loss")
    recipes = {arm: json.loads(row["candidate"]).get("recipe", {}) for arm, row in study.arms.items()}
    arms = [arm for arm in study.arms if study.curves.get(arm) and not recipes[arm].get("pruning")]
    ends = {arm: {seed: _reached(curve, loss) for seed, curve in study.curves[arm].items()} for arm in arms}
    crossed = any(math.isfinite(at) for of in ends.values() for at in of.values())
    if study.searched or LOSS not in study.headlines or BASELINE not in arms or not (crossed or declared):
        return
    logarithms = {arm: _of_learners(study, arm, ends[arm]) for arm in arms}
    ratios = [
        Estimate() if arm == BASELINE else contrast([logarithms[arm], logarithms[BASELINE]], (1.0, -1.0), ())
        for arm in arms
    ]
    for arm, ratio, adjusted in zip(arms, ratios, holm([each.p for each in ratios]), strict=True):
        bounds = {f"tokens_{name}": math.exp(ratio.columns[name]) for name in ("low", "high")}
        reached = sum(at < math.inf for at in ends[arm].values())
        known = {"arm": arm, "loss": loss, "seeds": len(ends[arm]), "reached": reached}
        yield {**known, "tokens_ratio": math.exp(ratio.value), **bounds, "p": ratio.p, "p_adjusted": adjusted}


def _target(study: Study) -> float:
    stuck, of_baseline = study.stuck.get(BASELINE, ()), study.curves.get(BASELINE, {})
    learned = [curve for seed, curve in of_baseline.items() if curve and seed not in stuck]
    finished = [curve for curve in learned if max(curve) == max(map(max, learned))]
    lowest = max((min(curve.values()) for curve in finished), default=-math.inf)
    return float(study.document.get("target_loss") or lowest)


def _reached(curve: Mapping[float, float], loss: float) -> float:
    """Return the tokens at which a curve crosses a loss: infinite if never, minus infinite before its first point."""
    tokens, losses = np.array(sorted(curve.items())).reshape(-1, 2).T
    below = np.flatnonzero(losses <= loss)
    if not len(below) or below[0] == 0:
        return -math.inf if len(below) else math.inf
    around = slice(below[0] - 1, below[0] + 1)
    return float(np.exp(np.interp(-loss, -losses[around], np.log(tokens[around]))))


def _of_learners(study: Study, arm: str, ends: Mapping[int, float]) -> dict[int, float]:
    """Return the logarithm of the tokens by seed that learned; nothing unless each of these is seen to cross."""
    learned = {seed: at for seed, at in ends.items() if seed not in study.stuck.get(arm, ())}
    return {seed: math.log(at) for seed, at in learned.items()} if all(map(math.isfinite, learned.values())) else {}


class Claim(NamedTuple):
    """The difference of two arms on a metric lies below, above or within a size."""

    metric: str
    first: str
    sign: str
    second: str
    size: float = 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Where the difference lies if the claim is true."""
        inner = {"~": (-self.size, self.size), "<": (-math.inf, -self.size), ">": (self.size, math.inf)}
        return inner[self.sign]

    def __str__(self) -> str:
        """Return the claim as tables write it."""
        size = f" {'within' if self.sign == '~' else 'by'} {self.size:g}" if self.size else ""
        return f"{self.metric}({self.first}) {self.sign} {self.metric}({self.second}){size}"


def stated(study: Study) -> list[tuple[str, Claim]]:
    """Return by source the claims of the experiment, and the paper's orderings on its metrics or the headlines."""
    texts = [CLAIM.findall(text)[0] for text in study.document.get("claims", [])]
    declared = [Claim(study.on_single_task(m), one, sign, two, float(by or 0)) for m, one, sign, _, two, by in texts]
    found = [("experiment", claim) for claim in declared]
    margins = study.margins(study.paper.get("margins", {}))
    metrics = [study.on_single_task(name) for name in study.paper.get("metrics", [])] or study.headlines
    for arms in (ordering.split(" ") for ordering in study.paper.get("orderings", [])):
        for first, sign, second in zip(arms[::2], arms[1::2], arms[2::2], strict=False):
            for metric in metrics:
                directed = "~" if sign == "~" else "<" if metric == LOSS else ">"
                size = margins.get(metric, 0.0) if sign == "~" else 0.0
                found.append(("paper", Claim(metric, first, directed, second, size)))
    return found


def claims(study: Study) -> list[Row]:
    """Return every claim with its verdict; one that is stated twice is one test, and one without a test counts."""
    sources, found, p_values, untested = stated(study), {}, [], set()
    for claim in dict.fromkeys(claim for _, claim in sources):
        each = study.difference(claim.metric, claim.first, claim.second)
        found[claim] = {"metric": claim.metric, **each.columns}
        untestable = study.cannot_judge(claim.metric, claim.first, claim.second)
        untestable |= ("experiment", claim) not in sources and study.asks_otherwise(
            claim.metric, claim.first, claim.second
        )
        without_support = claim.sign == "~" and power_within(each, claim.size) < 0.5
        if untestable or without_support:
            untested.add(claim)
        (above_low, below_low), (above_high, below_high) = map(
            (Estimate() if untestable else each).tails, claim.bounds
        )
        outside, inside = max(above_low, below_high), min(above_low + above_high, below_low + below_high)
        p, share = [np.nan if without_support else outside, inside], 1.0
        counts = {arm: study.counts[arm] for arm in (claim.first, claim.second) if arm in study.counts}
        if claim.metric == LOSS and len(counts) == 2:
            share = share_of_means({BASELINE: counts[claim.second], "first": counts[claim.first]})
            if share < 1 and claim.sign != "~" and not claim.size and study.few_learn(*counts):
                table = [[left, seeds - left] for left, seeds in counts.values()]
                tails = ("greater", "less") if claim.sign == "<" else ("less", "greater")
                p = [float(stats.fisher_exact(table, alternative=tail).pvalue) for tail in tails]
        p_values.append(tuple(each / share for each in p))
    sides = np.reshape(p_values, (-1, 2)).T
    counted = (np.minimum(1.0, 2 * holm(np.nan_to_num(side, nan=1.0))) for side in sides)
    supported, contradicted = (np.where(np.isnan(side), np.nan, p) for side, p in zip(sides, counted, strict=True))
    for (claim, row), of, against in zip(found.items(), supported, contradicted, strict=True):
        open_or_not = NOT_TESTED if claim in untested else OPEN
        verdict = SUPPORTED if of <= ALPHA else CONTRADICTED if against <= ALPHA else open_or_not
        row |= {"p_supported": of, "p_contradicted": against, "verdict": verdict}
    return [{"claim": str(claim), "by": by, **found[claim]} for by, claim in sources]


def power_within(found: Estimate, size: float) -> float:
    """Return the probability that the 95% interval lies within a size of 0 if the true difference is 0."""
    if not found.error > 0:
        return 1.0  # without a spread nothing is tested, whatever the size
    quantile, width = stats.t.isf(ALPHA / 2, found.degrees), size / found.error

    def at(spread: float) -> float:
        density = 2 * spread * found.degrees * stats.chi2.pdf(found.degrees * spread**2, found.degrees)
        return float(density * (2 * stats.norm.cdf(width - quantile * spread) - 1))

    return float(integrate.quad(at, 0.0, width / quantile)[0])
