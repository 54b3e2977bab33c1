"""Tests of two models on the same examples give scipy's p, and what they say does not depend on the order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, wilcoxon

from analysis.paired_examples import SMALLEST_SAMPLE, mcnemar, sign_test, signed_rank_p

ANSWERS = arrays(np.float32, st.shared(st.integers(1, 200), key="n"), elements=st.sampled_from([0.0, 1.0]))
LOSSES = arrays(np.float32, st.shared(st.integers(25, 120), key="m"), elements=st.integers(0, 12).map(float))


@given(ANSWERS, ANSWERS)
def test_mcnemar_is_the_binomial_test_of_the_answers_that_differ(one: np.ndarray, other: np.ndarray) -> None:
    found = mcnemar(one, other)
    only_one, only_other = int(((one == 1) & (other == 0)).sum()), int(((one == 0) & (other == 1)).sum())
    assert (found.larger, found.smaller) == (only_one, only_other)
    different = only_one + only_other
    assert found.p == pytest.approx(binomtest(only_one, different).pvalue if different else 1.0, rel=1e-9)
    assert mcnemar(other, one).p == found.p


@pytest.mark.parametrize(("larger", "n"), [(8000, 16_384), (8192, 16_384), (7000, 16_384), (0, 16_384), (1, 2)])
def test_the_sign_test_is_exact_at_sixteen_thousand_examples(larger: int, n: int) -> None:
    values = np.where(np.arange(n) < larger, 1.0, -1.0)
    assert sign_test(values, np.zeros(n)).p == pytest.approx(binomtest(larger, n).pvalue, rel=1e-7, abs=1e-300)


@given(LOSSES, LOSSES)
def test_signed_ranks_are_scipys_with_ties_and_zeros(one: np.ndarray, other: np.ndarray) -> None:
    found = signed_rank_p(one, other)
    differences = (one - other)[one != other].astype(np.float64)
    if len(differences) < SMALLEST_SAMPLE:
        assert found is None
    else:
        expected = wilcoxon(differences, zero_method="wilcox", correction=False, method="approx").pvalue
        assert found == pytest.approx(expected, rel=1e-9)


def test_false_alarms_are_as_many_as_the_level_says() -> None:
    random, tables = np.random.default_rng(1), 2000
    alarms = np.zeros(2)
    for _ in range(tables):
        one, other = random.gamma(2, 2, (2, 60))
        alarms += (sign_test(one, other).p < 0.05, (signed_rank_p(one, other) or 1.0) < 0.05)
    assert (alarms / tables < 0.065).all()
    assert alarms[1] / tables > 0.035


def test_answers_that_are_not_0_or_1_are_no_mcnemar() -> None:
    with pytest.raises(ValueError, match="scored 0 or 1"):
        mcnemar(np.asarray([0.5]), np.asarray([1.0]))
