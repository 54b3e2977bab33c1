"""Readings beside the verdicts, which decide nothing: the moderated t, and improvement over tasks."""

from collections.abc import Mapping

import numpy as np

from analysis.effects import seed_moments
from analysis.moderated import moderated_contrasts
from analysis.task_aggregates import Aggregated, Scores, improvement
from analysis.welch import differences_from_first
from configuration.arm import BASELINE
from ledger.stage_results import finite
from reports.statistics.metrics import Metric
from reports.statistics.results import Results


def moderated_p(results: Results, metric: Metric) -> Mapping[str, float | None]:
    """Return each arm's two-sided p against the baseline by the moderated t, for a single look at the results."""
    others = [arm.name for arm in results.arms if arm.name != BASELINE]
    if not others or BASELINE not in results.values:
        return dict.fromkeys(others)
    samples = [[*results.values.get(arm, {}).get(metric.name, {}).values()] for arm in (BASELINE, *others)]
    found = moderated_contrasts(seed_moments(samples), differences_from_first(len(samples))).p()
    return dict(zip(others, map(finite, found.tolist()), strict=True))


def improvement_over_tasks(results: Results, arm: str) -> Aggregated | None:
    """Return the probability that a run of the arm scores higher than one of the baseline on a task drawn at random.

    Seeds are drawn once for all tasks, which one pretrained model is fine-tuned on. None with fewer than two tasks,
    or two seeds that have all of them.
    """
    scores, others = (_by_task(results, name) for name in (arm, BASELINE))
    if len(results.tasks) < 2 or min(scores.shape[1], others.shape[1]) < 2:
        return None
    return improvement(scores, others, shared_seeds=True)


def _by_task(results: Results, arm: str) -> Scores:
    samples = [results.values.get(arm, {}).get(task, {}) for task in results.tasks]
    seeds = sorted(set.intersection(*map(set, samples))) if samples else []
    return np.array([[sample[seed] for seed in seeds] for sample in samples], dtype=np.float64).reshape(
        len(samples), len(seeds)
    )
