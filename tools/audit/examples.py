"""Tests on the same examples: pairs of models by McNemar or signed ranks, beside the arms' differences."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tools.audit.exports import BASELINE, LOSS, Model, Row
from tools.audit.families import holm
from tools.audit.inference import ALPHA, Estimate
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

FEWEST_DIFFERING = 20
"""Of a test by signed ranks."""
RANDOM = "percentiles of 1,000 random resamples; the interval beside it, which decides, is recomputed"
Values = Mapping[Model, np.ndarray]


@dataclass(frozen=True)
class Compared:
    """An arm and the baseline on one metric."""

    metric: str
    arm: str
    values: Values
    share: float

    @property
    def answers(self) -> bool:
        """Whether every value is 0 or 1."""
        return all(set(np.unique(values)) <= {0.0, 1.0} for values in self.values.values())

    @property
    def differences(self) -> list[np.ndarray]:
        """By pair of models with equal seeds, how much better the arm's is on each example."""
        sign = -1.0 if self.metric == LOSS else 1.0
        return [
            sign * (values - self.values[BASELINE, seed, stream])
            for (arm, seed, stream), values in self.values.items()
            if arm == self.arm and (BASELINE, seed, stream) in self.values
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


def _answers(values: Values) -> bool:
    return all(set(np.unique(each)) <= {0.0, 1.0} for each in values.values())


def example_tests(study: Study, _: Published) -> Iterator[Row]:
    """Yield every arm against the baseline on every metric with values of single examples."""
    tests = [
        Compared(metric, arm, values, study.share(arm))
        for metric, values in compared_metrics(study)
        for arm in study.rivals
        if not study.export.is_search
    ]
    pairs = [[one.p_of_models(each) for each in one.differences] for one in tests]
    adjusted = iter(holm([p for of_one in pairs for p in of_one]))
    for one, of_one in zip(tests, pairs, strict=True):
        of_pairs = [next(adjusted) for _ in of_one]
        if of_pairs:
            yield {**_models(one, of_pairs), **_arms(study, one)}


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


def _arms(study: Study, one: Compared) -> Row:
    """Return the difference that verdicts are by, where examples and seeds are sampled for it."""
    task, _, name = one.metric.partition(":")
    metric = task if name == study.primary(task) else one.metric
    sets = study.example_sets(metric)
    sampled = [each for each in sets if study.seeds([each.get(one.arm, {}), each.get(BASELINE, {})]) > 1]
    found = study.difference(one.arm, BASELINE, metric) if sampled else Estimate()
    unit = f"seeds x {_unit(one)}" if sampled else None
    return {"sampled_arms": unit, **study.interval(found, one.arm)}


def _unit(one: Compared) -> str:
    return "held-out sequences" if one.metric == LOSS else "dev examples"


RULES = {
    "example_tests": Rule(("metric", "arm"), example_tests, {"bootstrap_low": RANDOM, "bootstrap_high": RANDOM}),
}
