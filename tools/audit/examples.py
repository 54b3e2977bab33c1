"""Tests on the same examples: pairs of models by McNemar or signed ranks, arms over seeds and examples."""

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tools.audit.exports import BASELINE, LOSS, Model, Row
from tools.audit.families import holm
from tools.audit.inference import ALPHA, Estimate, difference, over_seeds_and_examples, wider
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

FEWEST_DIFFERING = 20
"""Of a test by signed ranks."""
POINTS = 100.0
RANDOM = "percentiles of 1,000 random resamples; the interval that decides is recomputed"
Values = Mapping[Model, np.ndarray]


@dataclass(frozen=True)
class Compared:
    """An arm and another one on one metric."""

    metric: str
    arm: str
    values: Values
    share: float
    paired: bool
    other: str = BASELINE
    """The arm that it is compared with."""

    @property
    def answers(self) -> bool:
        """Whether every value is 0 or 1."""
        return all(set(np.unique(values)) <= {0.0, 1.0} for values in self.values.values())

    @property
    def differences(self) -> list[np.ndarray]:
        """By pair of models with equal seeds, how much better the arm's is on each example."""
        sign = -1.0 if self.metric == LOSS else 1.0
        return [
            sign * (values - self.values[self.other, seed, stream])
            for (arm, seed, stream), values in self.values.items()
            if arm == self.arm and (self.other, seed, stream) in self.values
        ]

    def p_of_models(self, differences: np.ndarray) -> float | None:
        """Return the two-sided p of one pair of models."""
        changed = differences[differences != 0]
        if self.answers:
            p = stats.binomtest(int((changed > 0).sum()), len(changed)).pvalue if len(changed) else 1.0
        elif len(changed) < FEWEST_DIFFERING:
            return None
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                p = stats.wilcoxon(changed, zero_method="wilcox", correction=False, method="approx").pvalue
        return min(1.0, float(p) / self.share)

    @property
    def over_seeds(self) -> Estimate:
        """The difference in points over seeds and examples; unknown for the loss, whose verdict is this test."""
        first, second = (self._by_seed(name) for name in (self.arm, self.other))
        if self.paired:
            first, second = ({seed: each[seed] for seed in first.keys() & second.keys()} for each in (first, second))
        if self.metric == LOSS or min(len(first), len(second)) < 2:
            return Estimate()
        one, two = (np.stack([each[seed] for seed in sorted(each)]) for each in (first, second))
        if one.shape[1] < 2:
            return Estimate()
        mean, other = ({seed: float(each.mean()) for seed, each in rows.items()} for rows in (first, second))
        found, over = difference(mean, other, self.paired), over_seeds_and_examples(one, two, self.paired)
        return wider(Estimate(over.value, found.error, found.degrees, found.n), over)

    def _by_seed(self, name: str) -> dict[int, np.ndarray]:
        rows: dict[int, list[np.ndarray]] = {}
        for (arm, seed, _), values in self.values.items():
            if arm == name:
                rows.setdefault(seed, []).append(values * POINTS)
        return {seed: np.mean(each, axis=0) for seed, each in rows.items()}


def compared_metrics(study: Study) -> Iterator[tuple[str, Values]]:
    """Yield the held-out loss by sequence, and of each task the scores of 0 or 1, else of its primary metric."""
    values = study.export.example_values
    if LOSS in values:
        size = study.predictions_per_sequence
        yield LOSS, {model: each.reshape(-1, size).mean(axis=1) for model, each in values[LOSS].items()}
    for task in study.tasks:
        names = [name for name in sorted(values) if name.startswith(f"{task}:") and " " not in name]
        names = [name for name in names if name != f"{task}:prediction"]
        names.sort(key=lambda name: (not _answers(values[name]), name != f"{task}:{study.primary(task)}"))
        yield from ((name, values[name]) for name in names[:1])


def over_examples(study: Study, arm: str, other: str) -> Iterator[Row]:
    """Yield the difference of two arms on every task's primary metric over seeds and dev examples."""
    values = study.export.example_values
    for task in study.tasks:
        metric = f"{task}:{study.primary(task)}"
        if metric in values:
            found = Compared(metric, arm, values[metric], study.share(arm, other), study.paired, other).over_seeds
            yield study.interval(found, arm, other)


def _answers(values: Values) -> bool:
    return all(set(np.unique(each)) <= {0.0, 1.0} for each in values.values())


def example_tests(study: Study, _: Published) -> Iterator[Row]:
    """Yield every arm against the baseline on every metric with values of single examples."""
    tests = [
        Compared(metric, arm, values, study.share(arm), study.paired)
        for metric, values in compared_metrics(study)
        for arm in study.rivals
        if not study.export.is_search
    ]
    pairs = [[one.p_of_models(each) for each in one.differences] for one in tests]
    adjusted = iter(holm([p for of_one in pairs for p in of_one]))
    estimates = [one.over_seeds for one in tests]
    p_values = [
        None if each.p is None else min(1.0, each.p / one.share) for one, each in zip(tests, estimates, strict=True)
    ]
    for one, of_one, found, p, p_holm in zip(tests, pairs, estimates, p_values, holm(p_values), strict=True):
        of_pairs = [next(adjusted) for _ in of_one]
        if of_pairs or not math.isnan(found.value):
            yield {**_models(one, of_pairs), **_arms(study, one, found), "p": p, "p_holm": p_holm}


def _models(one: Compared, p_holm: list[float | None]) -> Row:
    counts = [(int((each > 0).sum()), int((each < 0).sum())) for each in one.differences]
    significant = [pair for pair, p in zip(counts, p_holm, strict=True) if p is not None and p <= ALPHA]
    return {
        "metric": one.metric,
        "arm": one.arm,
        "test": "McNemar" if one.answers else "signed ranks",
        "examples": len(next(iter(one.values.values()))),
        "sampled_models": _unit(one),
        "pairs": len(counts),
        "better": sum(better for better, _ in counts),
        "worse": sum(worse for _, worse in counts),
        "pairs_better": sum(better > worse for better, worse in significant),
        "pairs_worse": sum(better <= worse for better, worse in significant),
        "p_models": min((p for p in p_holm if p is not None), default=None),
    }


def _arms(study: Study, one: Compared, found: Estimate) -> Row:
    known = not math.isnan(found.value)
    interval = study.interval(found, one.arm)
    degrees = found.degrees if found.known else None
    return {"sampled_arms": f"seeds x {_unit(one)}" if known else None, **interval, "degrees": degrees}


def _unit(one: Compared) -> str:
    return "held-out sequences" if one.metric == LOSS else "dev examples"


RULES = {
    "example_tests": Rule(("metric", "arm"), example_tests, {"bootstrap_low": RANDOM, "bootstrap_high": RANDOM}),
}
