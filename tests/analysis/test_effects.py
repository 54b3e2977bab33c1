"""Effects agree with scipy's own paired and unpaired t tests, and nothing about them depends on order."""

import random
from statistics import fmean, variance

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from steeplechase.analysis.difference import Difference, MeanTest
from steeplechase.analysis.effects import effect
from steeplechase.analysis.paired import vary

VALUES = st.floats(-50, 50).map(lambda value: round(value, 4))
SEEDED = st.dictionaries(st.integers(0, 30), st.tuples(VALUES, VALUES), min_size=2, max_size=12)


@given(SEEDED, st.randoms(use_true_random=False))
def test_the_order_of_seeds_changes_no_bit(pairs: dict[int, tuple[float, float]], shuffler: random.Random) -> None:
    seeds = list(pairs)
    shuffler.shuffle(seeds)
    first = {seed: pairs[seed][0] for seed in pairs}
    second = {seed: pairs[seed][1] for seed in pairs}
    assert effect(first, second) == effect({s: first[s] for s in seeds}, {s: second[s] for s in reversed(seeds)})


def test_only_shared_seeds_are_paired() -> None:
    found = effect({1: 2.0, 2: 4.0, 9: 100.0}, {1: 1.0, 2: 2.0, 3: -100.0}, test=MeanTest.PAIRED)
    assert found.n == 3
    assert found.difference.n == 2
    assert found.difference.delta == pytest.approx(1.5)


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=6), st.lists(st.floats(-9, 9), min_size=2, max_size=6))
@example([0.0, 8.6e-122], [0.0, 8.6e-122])  # squares of the variances are too small for a float
@example([0.0, 2.2e-262], [0.0, 2.2e-262])  # the variances are
def test_unpaired_differences_are_welchs_over_all_seeds(first: list[float], second: list[float]) -> None:
    found = effect(dict(enumerate(first)), dict(enumerate(second))).difference
    assert found.n == min(len(first), len(second))
    assert found.delta == pytest.approx(fmean(first) - fmean(second), abs=1e-9)
    if all(vary(sample) and variance(sample) > 0 for sample in (first, second)):  # no float is as small as 1e-524
        oracle = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
        assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=1e-6)


def test_one_seed_has_no_spread_and_no_interval() -> None:
    found = effect({1: 2.0}, {1: 1.0})
    assert (found.n, found.mean, found.sd) == (1, 2.0, None)
    assert found.difference == Difference(1, 1.0)
    assert not found.difference.excludes_zero


def test_nothing_measured_is_nothing_said() -> None:
    found = effect({}, {1: 1.0})
    assert (found.n, found.mean, found.sd, found.difference) == (0, None, None, Difference())


@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("seeds", [2, 5])
def test_seeds_that_do_not_vary_give_no_interval(test: MeanTest, seeds: int) -> None:
    found = effect(dict.fromkeys(range(seeds), 0.3), dict.fromkeys(range(seeds), 0.1), test=test)
    assert found.difference == Difference(seeds, pytest.approx(0.2))
    assert not found.difference.excludes_zero
