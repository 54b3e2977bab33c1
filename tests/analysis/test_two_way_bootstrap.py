"""Resampled intervals over seeds and examples: the published procedure step by step, limits, coverage."""

import tracemalloc

import numpy as np
import pytest

from analysis.two_way_bootstrap import multi_bootstrap
from tests.analysis.two_way_tables import drawn, two_way_interval


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


def test_where_arms_do_not_differ_the_interval_is_a_point() -> None:
    same = drawn(3, 10, (1.0, 1.0, 1.0), np.random.default_rng(7))
    for method in (multi_bootstrap, two_way_interval):
        found = method(same, same, paired=True)
        assert (found.difference, found.standard_error, found.low, found.high) == (0.0, 0.0, 0.0, 0.0)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="not of the same seeds and examples"):
        multi_bootstrap(np.zeros((2, 5)), np.zeros((2, 6)), paired=False)
    with pytest.raises(ValueError, match="not of the same seeds and examples"):
        multi_bootstrap(np.zeros((2, 5)), np.zeros((3, 5)), paired=True)
