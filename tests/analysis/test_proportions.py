"""Exact intervals and tests of proportions, by scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steeplechase.analysis.exact_interval import clopper_pearson
from steeplechase.analysis.proportions import fisher_p, smallest_fisher_p, unseen_at_most, wilson

COUNTS = st.integers(1, 12).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(COUNTS)
def test_the_exact_interval_is_scipys(counts: tuple[int, int]) -> None:
    """Clopper and Pearson's."""
    expected = stats.binomtest(*counts).proportion_ci(0.95, "exact")
    assert clopper_pearson(*counts) == pytest.approx((expected.low, expected.high))


def test_wilsons_interval_has_known_values_and_contains_the_share() -> None:
    assert wilson(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-3))  # Brown, Cai and DasGupta 2001
    for total in range(1, 30):
        for count in range(total + 1):
            low, high = wilson(count, total)
            assert 0 <= low <= count / total + 1e-12 <= high + 1e-9 <= 1 + 1e-8


@given(COUNTS, COUNTS)
def test_fishers_p_is_scipys(first: tuple[int, int], second: tuple[int, int]) -> None:
    """Two-sided, of two by two."""
    table = [[count, total - count] for count, total in (first, second)]
    assert fisher_p(*first, *second) == pytest.approx(stats.fisher_exact(table).pvalue)


@pytest.mark.parametrize(("seeds", "share"), [(0, 1.0), (3, 0.632), (5, 0.451), (8, 0.312)])
def test_what_no_seed_did_may_still_happen(seeds: int, share: float) -> None:
    """The one-sided bound at 95%."""
    assert unseen_at_most(seeds) == pytest.approx(share, abs=5e-4)


@given(COUNTS, COUNTS)
def test_the_smallest_p_is_that_of_the_most_uneven_table(first: tuple[int, int], second: tuple[int, int]) -> None:
    """No other table with as many successes in all has a smaller one."""
    together, of_first, of_second = first[0] + second[0], first[1], second[1]
    possible = range(max(0, together - of_second), min(together, of_first) + 1)
    p_values = [fisher_p(count, of_first, together - count, of_second) for count in possible]
    assert smallest_fisher_p(together, of_first, of_second) == pytest.approx(min(p_values))
