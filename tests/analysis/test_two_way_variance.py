"""The two-way analysis of variance over seeds and examples: limits, coverage, and the variance of a bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.analysis.paired import interval as student_interval
from steeplechase.analysis.two_way_variance import grouped, two_way_estimate


def drawn(
    seeds: int, examples: int, spreads: tuple[float, float, float], random: np.random.Generator, mean: float = 0.0
) -> np.ndarray:
    """Return values of the model: spreads of seeds, of examples, and residual."""
    of_seed, of_example, residual = spreads
    effects = random.normal(0, of_seed, (seeds, 1)) + random.normal(0, of_example, (1, examples))
    return np.asarray(mean + effects + random.normal(0, residual, (seeds, examples)))


def two_way(values: np.ndarray, others: np.ndarray, paired: bool) -> tuple[float, float, float]:
    """Return low, high and standard error of values minus others by the two-way analysis of variance."""
    parts = [values - others] if paired else [values, -others]
    found = two_way_estimate([part.mean(axis=1) for part in parts], [parts])
    (low,), (high,) = found.interval()
    return float(low), float(high), found.standard_error.item()


SPREADS = {
    "seeds": (1.0, 0.0, 1.0),
    "examples": (0.0, 3.0, 1.0),
    "both": (0.3, 3.0, 1.0),
    "residual": (0.0, 0.0, 1.0),
}


@pytest.mark.parametrize("spreads", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_of_the_analysis_of_variance_holds_the_truth_in_95_of_100(
    spreads: tuple[float, float, float], paired: bool
) -> None:
    """With 4 seeds; where there is only residual noise it may be too wide, since components below 0 count as 0."""
    random, tables = np.random.default_rng(4), 500
    inside = 0
    for _ in range(tables):
        low, high, _ = two_way(drawn(4, 60, spreads, random, 0.5), drawn(4, 60, spreads, random), paired)
        inside += low <= 0.5 <= high
    assert 0.93 < inside / tables < (0.99 if any(spreads[:2]) else 1.0)


def test_what_no_set_of_examples_has_varies_over_seeds_alone() -> None:
    random = np.random.default_rng(12)
    values, others = drawn(4, 50, (1.0, 2.0, 1.0), random), drawn(4, 50, (1.0, 2.0, 1.0), random)
    rest = random.normal(0, 3.0, (2, 4))
    samples = [values.mean(axis=1) + rest[0], -others.mean(axis=1) + rest[1]]
    alone = two_way_estimate(samples, [])
    both = two_way_estimate(samples, [[values, -others]])
    expected = sum(sample.var(ddof=1) / 4 for sample in samples) ** 0.5
    assert alone.standard_error.item() == pytest.approx(expected)
    assert both.standard_error.item() > alone.standard_error.item()


def test_a_weighted_sum_of_four_arms_has_the_terms_of_each() -> None:
    random = np.random.default_rng(13)
    arms = [drawn(5, 80, (0.5, 2.0, 1.0), random) for _ in range(4)]
    weights = (0.5, 0.5, -0.5, -0.5)
    parts = [weight * arm for weight, arm in zip(weights, arms, strict=True)]
    found = two_way_estimate([part.mean(axis=1) for part in parts], [parts])
    by_example = sum(part.mean(axis=0) for part in parts)
    seeds = sum(part.mean(axis=1).var(ddof=1) / 5 for part in parts)
    residual = sum(
        ((part - part.mean(axis=1, keepdims=True) - part.mean(axis=0) + part.mean()) ** 2).sum() / (4 * 79 * 5 * 80)
        for part in parts
    )
    assert found.standard_error.item() ** 2 == pytest.approx(seeds + by_example.var(ddof=1) / 80 - residual)


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_where_every_example_is_alike_only_seeds_count_and_the_interval_is_students(seeds: int, root: int) -> None:
    differences = np.random.default_rng(root).normal(0, 1, seeds)
    values = np.repeat(differences[:, None], 50, axis=1)
    low, high, _ = two_way(values, np.zeros_like(values), paired=True)
    assert (low, high) == pytest.approx(student_interval(differences.tolist(), 0.95), rel=1e-6, abs=1e-9)


def test_groups_are_means_of_neighbours_and_count_dependence_within_a_sequence() -> None:
    assert grouped(np.asarray([[1.0, 3.0, 5.0, 9.0]]), 2).tolist() == [[2.0, 7.0]]
    with pytest.raises(ValueError, match="4 examples are no groups of 3"):
        grouped(np.zeros((1, 4)), 3)
    random = np.random.default_rng(8)
    alike = np.repeat(drawn(4, 100, (0.0, 2.0, 0.1), random), 4, axis=1)
    single, sequences = (two_way(each, 0 * each, paired=True)[2] for each in (alike, grouped(alike, 4)))
    assert sequences == pytest.approx(2 * single, rel=0.1)


def test_fewer_than_two_seeds_or_examples_and_shapes_that_do_not_fit_are_refused() -> None:
    seeds, values = np.zeros(3), np.zeros((3, 5))
    with pytest.raises(ValueError, match="needs two of each"):
        two_way_estimate([np.zeros(1)], [[np.zeros((1, 5))]])
    with pytest.raises(ValueError, match="needs two of each"):
        two_way_estimate([seeds], [[np.zeros((3, 1))]])
    with pytest.raises(ValueError, match="not of the same examples for 2 samples"):
        two_way_estimate([seeds, seeds], [[values, np.zeros((3, 6))]])
    with pytest.raises(ValueError, match="not of the same examples for 2 samples"):
        two_way_estimate([seeds, seeds], [[values]])
