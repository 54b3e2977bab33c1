"""Error rates of tests of pairs of models on the same examples, by simulation of arms that do not differ."""

import numpy as np

from ledger.example_tables import ExampleTable, Replicate
from reports.statistics.example_tests import example_tests

ARMS, TASKS, EXAMPLES, FAMILIES = ("baseline", "a", "b", "c", "d"), ("first", "second"), 200, 200
TWO_STANDARD_ERRORS = 2 * (0.05 * 0.95 / FAMILIES) ** 0.5


def answers(task: str, of_seed: float, random: np.random.Generator) -> ExampleTable:
    """Return the answers of identical arms, whose models differ by a normal effect of the seed on a latent scale."""
    models = tuple(Replicate(arm, seed, 1) for arm in ARMS for seed in range(3))
    difficulty, effects = random.normal(0, 1, EXAMPLES), random.normal(0, of_seed, (len(models), 1))
    correct = 0.7 + difficulty + effects + random.normal(0, 1, (len(models), EXAMPLES)) > 0
    return ExampleTable(f"{task}:accuracy", models, correct.astype(np.float32))


def detections(of_seed: float) -> float:
    """Return the share of families with a pair of models that differs significantly."""
    random, detected = np.random.default_rng(4), 0
    for _ in range(FAMILIES):
        found = example_tests([answers(task, of_seed, random) for task in TASKS], ARMS[1:], lambda _: 1.0)
        detected += any(pair.significant for each in found for pair in each.pairs)
    return detected / FAMILIES


def test_the_family_keeps_5_percent_where_seeds_have_no_effect_and_detects_models_that_differ() -> None:
    """Where seeds have an effect the models do differ, and the arms do not: the family says nothing of arms."""
    assert detections(0.0) <= 0.05 + TWO_STANDARD_ERRORS
    assert detections(0.3) > 0.9
