"""The two-way analysis of variance over seeds and examples: limits, coverage, and the variance of a bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.analysis.difference import MeanTest
from steeplechase.analysis.effects import estimate, wider
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.paired import interval as student_interval
from steeplechase.analysis.two_way_variance import grouped, two_way_estimate
from tests.analysis.two_way_tables import drawn, interval, two_way, two_way_interval

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
        found = two_way_interval(drawn(4, 60, spreads, random, 0.5), drawn(4, 60, spreads, random), paired=paired)
        inside += found.low <= 0.5 <= found.high
    assert 0.93 < inside / tables < (0.99 if any(spreads[:2]) else 1.0)


@pytest.mark.parametrize("seeds", [2, 5])
@pytest.mark.parametrize("spreads", [(1.0, 4.0, 4.0), (0.1, 8.0, 8.0), (1.0, 0.0, 1.0)])
def test_the_wider_of_both_tests_detects_no_difference_more_often_than_its_level(
    seeds: int, spreads: tuple[float, float, float]
) -> None:
    """Two standard errors of 5% of 600 tables are 1.8 points."""
    random, tables = np.random.default_rng(9), 600
    found = 0
    for _ in range(tables):
        values, others = drawn(seeds, 100, spreads, random), drawn(seeds, 100, spreads, random)
        means, other_means = (dict(enumerate(each.mean(axis=1))) for each in (values, others))
        decides = wider(estimate(means, other_means, MeanTest.WELCH), two_way(values, others, paired=False))
        found += decides.p().item() <= 0.05
    assert found / tables <= 0.05 + 0.018


def score(tasks: list[tuple[np.ndarray, np.ndarray]]) -> Estimates:
    """Return the difference of the mean over tasks, each with its own examples."""
    sets = [[values / len(tasks), -others / len(tasks)] for values, others in tasks]
    samples = [np.sum([part[arm].mean(axis=1) for part in sets], axis=0) for arm in (0, 1)]
    return two_way_estimate(samples, sets)


@pytest.mark.parametrize("seeds", [3, 5])
def test_the_interval_of_a_score_of_several_tasks_holds_the_truth_in_95_of_100(seeds: int) -> None:
    """Seeds have one effect on all tasks and one on each; examples of two tasks are independent."""
    random, tables, inside = np.random.default_rng(11), 500, 0
    for _ in range(tables):
        common = random.normal(0, 0.5, (2, seeds, 1))
        tasks = [
            tuple(
                drawn(seeds, size, spreads, random, mean) + of_arm
                for of_arm, mean in zip(common, (0.4, 0.0), strict=True)
            )
            for size, spreads in ((40, (0.2, 3.0, 2.0)), (120, (0.4, 5.0, 1.0)))
        ]
        found = interval(score(tasks))  # type: ignore[arg-type]
        inside += found.low <= 0.4 <= found.high
    assert 0.93 < inside / tables < 0.985


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
    found = two_way_interval(values, np.zeros_like(values), paired=True)
    assert (found.low, found.high) == pytest.approx(student_interval(differences.tolist(), 0.95), rel=1e-6, abs=1e-9)


def test_groups_are_means_of_neighbours_and_count_dependence_within_a_sequence() -> None:
    assert grouped(np.asarray([[1.0, 3.0, 5.0, 9.0]]), 2).tolist() == [[2.0, 7.0]]
    with pytest.raises(ValueError, match="4 examples are no groups of 3"):
        grouped(np.zeros((1, 4)), 3)
    random = np.random.default_rng(8)
    alike = np.repeat(drawn(4, 100, (0.0, 2.0, 0.1), random), 4, axis=1)
    single, sequences = (two_way_interval(each, 0 * each, paired=True) for each in (alike, grouped(alike, 4)))
    assert sequences.standard_error == pytest.approx(2 * single.standard_error, rel=0.1)


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
