"""One value per pretraining seed: means over fine-tuning seeds and tasks, and their mean and spread."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tools.audit.exports import Row
from tools.audit.inference import BySeed


def mean_by_seed(sample: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """Return the mean over fine-tuning seeds."""
    return {seed: math.fsum(values) / len(values) for seed, values in sorted(sample.items())}


def summary(sample: BySeed) -> Row:
    """Return n, mean and sd of one value per seed."""
    values = [*sample.values()]
    mean = math.fsum(values) / len(values) if values else None
    return {"n": len(values), "mean": mean, "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None}


def mean_over_tasks(by_task: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the mean over tasks by fine-tuning seed; one mean where tasks differ in the number of these."""
    if len({len(values) for values in by_task}) > 1:
        return (float(np.mean([np.mean(values) for values in by_task])),)
    return tuple(math.fsum(values) / len(values) for values in zip(*by_task, strict=True))
