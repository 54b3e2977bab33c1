"""Equivalence, and the effect that a number of seeds detects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steeplechase.analysis.effects import against_first, equivalence_p
from steeplechase.analysis.estimates import Estimates, moments
from steeplechase.analysis.power import detectable_effect

SAMPLE = st.lists(st.integers(-40, 40).map(lambda value: value / 8), min_size=3, max_size=3, unique=True)


@given(SAMPLE, SAMPLE, st.floats(0.1, 20))
def test_p_is_the_larger_of_scipys_one_sided_ones(first: list[float], second: list[float], margin: float) -> None:
    found = against_first(moments(np.array([second, first])))
    shifted = [
        stats.ttest_ind(np.array(first) + shift, second, equal_var=False, alternative=side).pvalue
        for shift, side in ((margin, "greater"), (-margin, "less"))
    ]
    assert float(equivalence_p(found, margin)[0]) == pytest.approx(max(shifted), rel=1e-6)


@given(st.floats(-3, 3), st.floats(0.1, 2), st.floats(1, 30), st.floats(0.1, 3))
def test_p_and_the_interval_agree(value: float, error: float, degrees: float, margin: float) -> None:
    found = Estimates(np.array([value]), np.array([error]), np.array([degrees]))
    low, high = found.interval(2 * 0.05)
    inside = -margin < low[0] and high[0] < margin
    p = float(equivalence_p(found, margin)[0])
    assert (p < 0.05) == inside or p == pytest.approx(0.05, abs=1e-6)


def test_without_a_test_there_is_none() -> None:
    assert detectable_effect(1.0, 4, 0.0) is None
    assert detectable_effect(np.nan, 4, 0.05) is None
    assert detectable_effect(0.0, 4, 0.05) is None
