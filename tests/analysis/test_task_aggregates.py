"""The probability of improvement over tasks agrees with rliable where it is installed, and with plain loops."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.task_aggregates import improvement, probability_of_improvement

SCORES = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 500)).map(
    lambda shape: np.random.default_rng(shape[2]).integers(0, 12, size=shape[:2]).astype(float)
)


@given(SCORES, st.integers(1, 5), st.integers(0, 500))
def test_the_probability_of_improvement_counts_pairs(scores: np.ndarray, seeds: int, start: int) -> None:
    others = np.random.default_rng(start).integers(0, 12, size=(len(scores), seeds)).astype(float)
    by_task = [
        np.mean([(a > b) + 0.5 * (a == b) for a, b in product(*pair)]) for pair in zip(scores, others, strict=True)
    ]
    found = float(probability_of_improvement(scores, others))
    assert found == pytest.approx(np.mean(by_task))
    assert found == pytest.approx(1 - float(probability_of_improvement(others, scores)))


def test_it_agrees_with_rliable() -> None:
    metrics = pytest.importorskip(
        "rliable.metrics", reason="rliable is no dependency; it is an oracle where it is there"
    )
    random = np.random.default_rng(0)
    scores, others = random.normal(1, 1, (6, 5)), random.normal(0, 1, (6, 5))
    found = improvement(scores, others, shared_seeds=False)
    assert found.value == pytest.approx(metrics.probability_of_improvement(scores.T, others.T))


@pytest.mark.parametrize("shared", [False, True])
def test_the_interval_is_that_of_a_straightforward_bootstrap(shared: bool) -> None:
    random = np.random.default_rng(1)
    arms = [random.normal(size=(4, 15)) + random.normal(size=15) for _ in range(2)]
    drawn = []
    for _ in range(4000):
        of_all = [random.integers(15, size=15) for _ in arms]
        rows = [
            np.array([row[seeds if shared else random.integers(15, size=15)] for row in scores])
            for scores, seeds in zip(arms, of_all, strict=True)
        ]
        drawn.append(float(probability_of_improvement(*rows)))
    found = improvement(*arms, shared_seeds=shared)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.03)


def test_shared_seeds_widen_the_interval_where_tasks_depend_on_the_seed() -> None:
    random = np.random.default_rng(2)
    scores, others = (np.tile(random.normal(size=8), (6, 1)) + 0.1 * random.normal(size=(6, 8)) for _ in range(2))
    shared, independent = (improvement(scores, others, shared_seeds=each) for each in (True, False))
    assert shared.high - shared.low > 1.5 * (independent.high - independent.low)


def test_improvement_has_a_direction() -> None:
    random = np.random.default_rng(3)
    low, high = random.normal(0, 0.1, (3, 5)), random.normal(2, 0.1, (3, 5))
    assert improvement(high, low, shared_seeds=True).low == 1
