"""The pilot of a scale: the arms that exceed every reference of a task."""

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from tools.audit.exports import Row
from tools.audit.inference import ALPHA
from tools.audit.rule import Published, Rule
from tools.audit.standings import UNTRAINED, excesses, pooled
from tools.audit.study import Study

WRITTEN = {"bag_of_words": "bag of words", "ngram": "n-gram"}
"""References whose names in texts are not those of their columns."""


def task_pilot(study: Study, _: Published) -> Iterator[Row]:
    """Yield every arm on every task with references, its interval corrected for the number of arms."""
    made = {result["task"] for result in study.export.shared_results("examples")}
    for task in filter(made.__contains__, study.tasks):
        known, untrained = study.references(task)
        samples = {arm: [*study.of(arm, task).values()] for arm in study.arms if study.of(arm, task)}
        sd, degrees = pooled([*samples.values(), untrained])
        width = sd * stats.t.ppf(1 - ALPHA / 2 / len(samples), degrees) if degrees else math.nan
        for arm, sample in samples.items():
            mean = float(np.mean(sample))
            half, above = width / math.sqrt(len(sample)), [*excesses(known, untrained, mean, 1 / len(sample))]
            exceeded = [name for name, excess, variance in above if excess > width * math.sqrt(variance)]
            yield {
                "task": task,
                "metric": study.primary(task),
                "arm": arm,
                "n": len(sample),
                "mean": mean,
                "low": mean - half if degrees else None,
                "high": mean + half if degrees else None,
                **{name: known.get(name) for name in ("chance", *WRITTEN)},
                UNTRAINED: float(np.mean(untrained)) if untrained else None,
                "untrained_n": len(untrained),
                "exceeded": ", ".join(WRITTEN.get(name, name) for name in exceeded) or None,
                "qualifies": len(exceeded) == len(above) if degrees and untrained else None,
            }


RULES = {"task_pilot": Rule(("task", "arm"), task_pilot)}
