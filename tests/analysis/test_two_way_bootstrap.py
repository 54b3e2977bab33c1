"""Intervals over seeds and examples: the published procedure step by step, limits, and coverage by simulation."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.paired import interval
from analysis.two_way_bootstrap import TwoWayInterval, grouped, multi_bootstrap, two_way_estimate


def drawn(
    seeds: int, examples: int, spreads: tuple[float, float, float], random: np.random.Generator, mean: float = 0.0
) -> np.ndarray:
    """Return values of a two-way random-effects model: seeds, examples, residual."""
    of_seed, of_example, residual = spreads
    effects = random.normal(0, of_seed, (seeds, 1)) + random.normal(0, of_example, (1, examples))
    return np.asarray(mean + effects + random.normal(0, residual, (seeds, examples)))


def two_way_interval(values: np.ndarray, others: np.ndarray, paired: bool) -> TwoWayInterval:
    """Return the interval of the two-way analysis of variance."""
    found = two_way_estimate(values, others, paired=paired)
    (low,), (high,) = found.interval()
    return TwoWayInterval(found.value.item(), found.standard_error.item(), float(low), float(high))


def reference(values: np.ndarray, others: np.ndarray, paired: bool, resamples: int) -> np.ndarray:
    """Return the multi-bootstrap as published: draw seeds, draw examples, take the means of what is drawn."""
    random = np.random.default_rng(5)
    means = []
    for _ in range(resamples):
        rows = random.integers(len(values), size=len(values))
        other_rows = rows if paired else random.integers(len(others), size=len(others))
        columns = random.integers(values.shape[1], size=values.shape[1])
        means.append(values[np.ix_(rows, columns)].mean() - others[np.ix_(other_rows, columns)].mean())
    return np.asarray(means)


@pytest.mark.parametrize(("seeds", "other_seeds", "paired"), [(5, 5, True), (5, 5, False), (6, 4, False)])
def test_the_bootstrap_is_the_published_procedure(seeds: int, other_seeds: int, paired: bool) -> None:
    random = np.random.default_rng(1)
    values, others = drawn(seeds, 30, (1.0, 3.0, 1.0), random, 2.0), drawn(other_seeds, 30, (1.0, 3.0, 1.0), random)
    found = multi_bootstrap(values, others, paired=paired, resamples=8_000)
    expected = reference(values, others, paired, 8_000)
    width = found.high - found.low
    assert found.difference == pytest.approx(values.mean() - others.mean())
    assert found.standard_error == pytest.approx(expected.std(ddof=1), rel=0.03)
    assert np.quantile(expected, (0.025, 0.975)) == pytest.approx((found.low, found.high), abs=0.03 * width)


def test_pairing_of_seeds_narrows_the_interval_where_seeds_have_an_effect_on_both() -> None:
    random = np.random.default_rng(2)
    common = random.normal(0, 2.0, (8, 1))
    values, others = (common + drawn(8, 200, (0.1, 0.1, 0.1), random) for _ in range(2))
    for method in (multi_bootstrap, two_way_interval):
        paired, unpaired = (method(values, others, paired=each) for each in (True, False))
        assert paired.difference == pytest.approx(unpaired.difference)
        assert unpaired.standard_error > 5 * paired.standard_error


def test_the_same_values_give_the_same_interval_and_little_memory_is_needed() -> None:
    random = np.random.default_rng(3)
    values, others = drawn(8, 16_384, (0.02, 2.0, 1.0), random), drawn(8, 16_384, (0.02, 2.0, 1.0), random)
    tracemalloc.start()
    first = multi_bootstrap(values, others, paired=True, resamples=500)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 2**20
    assert multi_bootstrap(values, others, paired=True, resamples=500) == first
    analytic = two_way_interval(values, others, paired=True)
    assert first.standard_error == pytest.approx(analytic.standard_error, rel=0.25)


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
    random, tables = np.random.default_rng(4), 1500
    inside = 0
    for _ in range(tables):
        found = two_way_interval(drawn(4, 60, spreads, random, 0.5), drawn(4, 60, spreads, random), paired=paired)
        inside += found.low <= 0.5 <= found.high
    assert 0.935 < inside / tables < (0.97 if any(spreads[:2]) else 1.0)


def test_the_bootstrap_holds_the_truth_where_examples_vary_and_less_often_where_few_seeds_do() -> None:
    random, tables = np.random.default_rng(6), 500
    coverage = {}
    for name, spreads in (("examples", (0.0, 3.0, 1.0)), ("seeds", (1.0, 0.0, 1.0))):
        inside = 0
        for _ in range(tables):
            values = drawn(8, 80, spreads, random, 0.5)
            found = multi_bootstrap(values, np.zeros_like(values), paired=True, resamples=400)
            inside += found.low <= 0.5 <= found.high
        coverage[name] = inside / tables
    assert 0.92 < coverage["examples"] < 0.99
    assert 0.85 < coverage["seeds"] < 0.95


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_where_every_example_is_alike_only_seeds_count_and_the_interval_is_students(seeds: int, root: int) -> None:
    differences = np.random.default_rng(root).normal(0, 1, seeds)
    values = np.repeat(differences[:, None], 50, axis=1)
    found = two_way_interval(values, np.zeros_like(values), paired=True)
    assert (found.low, found.high) == pytest.approx(interval(differences.tolist(), 0.95), rel=1e-6, abs=1e-9)


def test_where_arms_do_not_differ_the_interval_is_a_point() -> None:
    same = drawn(3, 10, (1.0, 1.0, 1.0), np.random.default_rng(7))
    for method in (multi_bootstrap, two_way_interval):
        found = method(same, same, paired=True)
        assert (found.difference, found.standard_error, found.low, found.high) == (0.0, 0.0, 0.0, 0.0)


def test_groups_are_means_of_neighbours_and_count_dependence_within_a_sequence() -> None:
    assert grouped(np.asarray([[1.0, 3.0, 5.0, 9.0]]), 2).tolist() == [[2.0, 7.0]]
    with pytest.raises(ValueError, match="4 examples are no groups of 3"):
        grouped(np.zeros((1, 4)), 3)
    random = np.random.default_rng(8)
    alike = np.repeat(drawn(4, 100, (0.0, 2.0, 0.1), random), 4, axis=1)
    single, sequences = (two_way_interval(each, 0 * each, paired=True) for each in (alike, grouped(alike, 4)))
    assert sequences.standard_error == pytest.approx(2 * single.standard_error, rel=0.1)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="not of the same seeds and examples"):
        multi_bootstrap(np.zeros((2, 5)), np.zeros((2, 6)), paired=False)
    with pytest.raises(ValueError, match="not of the same seeds and examples"):
        multi_bootstrap(np.zeros((2, 5)), np.zeros((3, 5)), paired=True)
    with pytest.raises(ValueError, match="needs two of each"):
        two_way_interval(np.zeros((1, 5)), np.zeros((1, 5)), paired=True)
