"""Sets of examples that a metric is the mean of: held-out sequences, and dev examples of tasks."""

from collections.abc import Mapping, Sequence

import numpy as np

from tools.audit.exports import Model

POINTS = 100.0
ExampleSet = dict[str, dict[int, np.ndarray]]
"""By arm and seed, what the same examples add to a metric."""


def of_losses(losses: Mapping[str, Mapping[int, np.ndarray]], predictions_per_sequence: int) -> list[ExampleSet]:
    """Return the set of held-out sequences, by arm and seed."""
    by_sequence = {
        arm: {seed: each.reshape(-1, predictions_per_sequence).mean(axis=1) for seed, each in by_seed.items()}
        for arm, by_seed in losses.items()
    }
    return [by_sequence] if by_sequence and _is_sample(by_sequence) else []


def of_tasks(values: Mapping[str, Mapping[Model, np.ndarray]], names: Sequence[str]) -> list[ExampleSet]:
    """Return the set of dev examples of every task of which a metric is the mean, where they were exported."""
    found = [_of_dev(values[name], POINTS / len(names)) for name in names if name in values]
    return [each for each in found if _is_sample(each)]


def _of_dev(values: Mapping[Model, np.ndarray], share: float) -> ExampleSet:
    rows: dict[str, dict[int, list[np.ndarray]]] = {}
    for (arm, seed, _), each in values.items():
        rows.setdefault(arm, {}).setdefault(seed, []).append(np.asarray(each, np.float64))
    return {
        arm: {seed: share * np.mean(each, axis=0) for seed, each in by_seed.items()} for arm, by_seed in rows.items()
    }


def _is_sample(found: ExampleSet) -> bool:
    """Whether there are several examples."""
    return len(next(iter(next(iter(found.values())).values()))) > 1
