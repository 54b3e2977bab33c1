"""The tests on paired differences agree with scipy's, and Holm's correction with its definition."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steeplechase.analysis.paired import holm, interval, t_p
from steeplechase.analysis.power import detectable_shift, power_of_t, power_of_t_within, seeds_needed

DIFFERENCES = st.lists(st.integers(-40, 40).map(lambda value: value / 8), min_size=2, max_size=9)
P_VALUES = st.lists(st.none() | st.floats(0, 1), max_size=12)


@given(DIFFERENCES)
def test_t_is_scipys(differences: list[float]) -> None:
    if len(set(differences)) == 1:
        assert t_p(differences) is None
        return
    oracle = stats.ttest_1samp(differences, 0.0)
    assert t_p(differences) == pytest.approx(oracle.pvalue, abs=1e-9)
    bounds = oracle.confidence_interval(0.9)
    assert interval(differences, 0.9) == pytest.approx((bounds.low, bounds.high), rel=1e-6, abs=1e-9)


def test_rounding_is_no_spread() -> None:
    assert t_p([0.1 + 0.2, 0.3, 0.3]) is None


@given(P_VALUES, st.randoms(use_true_random=False))
def test_holm_is_what_its_definition_says(p_values: list[float | None], shuffler: random.Random) -> None:
    adjusted = holm(p_values)
    known = [p for p in p_values if p is not None]
    for before, after in zip(p_values, adjusted, strict=True):
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            reached = [min(1.0, p * sum(other >= p for other in known)) for p in known if p <= before]
            assert after == pytest.approx(max(reached))
    order = list(range(len(p_values)))
    shuffler.shuffle(order)
    assert holm([p_values[position] for position in order]) == tuple(adjusted[position] for position in order)


@pytest.mark.parametrize("pairs", [2, 3, 5, 8, 20, 100])
@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0, 2.5])
def test_power_is_that_of_the_noncentral_t(pairs: int, effect: float) -> None:
    bar, shift = stats.t.ppf(0.975, pairs - 1), effect * pairs**0.5
    known = stats.nct.sf(bar, pairs - 1, shift) + np.nan_to_num(stats.nct.cdf(-bar, pairs - 1, shift))
    assert power_of_t(shift, pairs - 1) == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize("pairs", [3, 5, 8, 30])
def test_the_smallest_effect_has_a_power_of_four_fifths(pairs: int) -> None:
    assert power_of_t(detectable_shift(pairs - 1), pairs - 1) == pytest.approx(0.8, abs=1e-9)


def test_power_within_a_margin_is_what_a_simulation_finds() -> None:
    random_numbers = np.random.default_rng(3)
    for pairs, effect in ((5, 0.0), (5, 0.7), (12, 0.3)):
        sample = random_numbers.normal(effect, 1.0, (40_000, pairs))
        half = stats.t.ppf(0.975, pairs - 1) * sample.std(axis=1, ddof=1) / pairs**0.5
        inside = np.mean(np.abs(sample.mean(axis=1)) + half <= 1.0)
        low, high = (-1 - effect) * pairs**0.5, (1 - effect) * pairs**0.5
        assert power_of_t_within(low, high, pairs - 1) == pytest.approx(inside, abs=0.01)


@pytest.mark.parametrize(("effect", "sd"), [(1.0, 1.0), (0.5, 0.57), (0.3, 1.0)])
def test_the_seeds_needed_are_the_fewest(effect: float, sd: float) -> None:
    def power(pairs: int) -> float:
        return power_of_t(effect / sd * pairs**0.5, pairs - 1)

    needed = seeds_needed(power, start=2)
    assert needed is not None
    assert power(needed) >= 0.8 > power(needed - 1)


def test_what_no_number_of_seeds_decides_is_said() -> None:
    assert seeds_needed(lambda n: power_of_t(0.0, n - 1), start=2) is None
