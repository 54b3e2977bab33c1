"""Aggregates over tasks agree with rliable where it is installed, with scipy, and with straightforward loops."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.task_aggregates import (
    aggregated,
    aggregated_difference,
    improvement,
    interquartile_mean,
    mean,
    probability_of_improvement,
)

SCORES = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 500)).map(
    lambda shape: np.random.default_rng(shape[2]).integers(0, 12, size=shape[:2]).astype(float)
)


@given(SCORES)
def test_the_interquartile_mean_is_scipys_trimmed_mean(scores: np.ndarray) -> None:
    assert float(interquartile_mean(scores)) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None))
    assert float(mean(scores)) == pytest.approx(scores.mean())


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
    library = pytest.importorskip(
        "rliable.library", reason="rliable is no dependency; it is an oracle where it is there"
    )
    metrics = pytest.importorskip("rliable.metrics")
    random = np.random.default_rng(0)
    scores, others = random.normal(1, 1, (6, 5)), random.normal(0, 1, (6, 5))
    assert float(interquartile_mean(scores)) == pytest.approx(metrics.aggregate_iqm(scores.T))
    found = improvement(scores, others, shared_seeds=False)
    assert found.value == pytest.approx(metrics.probability_of_improvement(scores.T, others.T))
    _, intervals = library.get_interval_estimates(
        {"arm": scores.T}, lambda runs: np.array([metrics.aggregate_iqm(runs)]), reps=2000
    )
    ours = aggregated(scores, interquartile_mean, shared_seeds=False)
    assert (ours.low, ours.high) == pytest.approx(tuple(intervals["arm"][:, 0]), abs=0.08)


@pytest.mark.parametrize("shared", [False, True])
def test_the_interval_is_that_of_a_straightforward_bootstrap(shared: bool) -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=(4, 15)) + random.normal(size=15)
    drawn = []
    for _ in range(4000):
        seeds = random.integers(15, size=15)
        rows = [row[seeds if shared else random.integers(15, size=15)] for row in scores]
        drawn.append(stats.trim_mean(np.array(rows), 0.25, axis=None))
    found = aggregated(scores, interquartile_mean, shared_seeds=shared)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.08)


def test_shared_seeds_widen_the_interval_where_tasks_depend_on_the_seed() -> None:
    random = np.random.default_rng(2)
    scores = np.tile(random.normal(size=8), (6, 1)) + 0.1 * random.normal(size=(6, 8))
    shared, independent = (aggregated(scores, mean, shared_seeds=each) for each in (True, False))
    assert shared.high - shared.low > 1.5 * (independent.high - independent.low)


def test_differences_and_improvement_have_a_direction() -> None:
    random = np.random.default_rng(3)
    low, high = random.normal(0, 0.1, (3, 5)), random.normal(2, 0.1, (3, 5))
    gain = aggregated_difference(high, low, mean, shared_seeds=True)
    assert gain.low > 1.5
    assert gain.value == pytest.approx(high.mean() - low.mean())
    assert improvement(high, low, shared_seeds=True).low == 1
