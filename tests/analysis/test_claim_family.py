"""One claim is judged by its interval; a family of claims has no wrong verdict in 95% of studies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claim_family import ClaimTest, claim_p, claim_test, corrected
from analysis.estimates import Estimates

BOUNDS = st.sampled_from([(0.0, np.inf), (-np.inf, 0.0), (0.5, np.inf), (-1.0, 1.0), (-0.2, 0.2)])


def estimate(value: float, error: float = 1.0, degrees: float = 4.0) -> Estimates:
    return Estimates(np.array([value]), np.array([error]), np.array([degrees]))


@given(st.floats(-12, 12), BOUNDS)
def test_one_claim_is_judged_by_its_interval(value: float, bounds: tuple[float, float]) -> None:
    found = estimate(value)
    (claim,) = corrected([claim_test(found, *bounds)])
    (low,), (high,) = found.interval()
    assert claim.supported() == (bounds[0] <= low and high <= bounds[1])
    outside = high < bounds[0] or low > bounds[1]
    assert claim.contradicted() <= outside
    if np.isinf(bounds).any():
        assert claim.contradicted() == outside


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_more_claims_never_help_one(p_values: list[tuple[float, float]]) -> None:
    family = corrected([ClaimTest(*each) for each in p_values])
    for each, one in zip(p_values, family, strict=True):
        (alone,) = corrected([ClaimTest(*each)])
        assert one.supported() <= alone.supported()
        assert one.contradicted() <= alone.contradicted()


def test_what_is_not_known_is_not_part_of_the_family() -> None:
    family = corrected([ClaimTest(0.02, 0.98), ClaimTest(None, None)])
    assert family[0].supported_p == pytest.approx(0.04)
    assert not family[1].supported()
    assert not family[1].contradicted()
    assert claim_test(estimate(np.nan), 0.0, np.inf) == ClaimTest(None, None)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_no_verdict_is_wrong_in_nineteen_of_twenty_studies(correlation: float) -> None:
    truth = np.array([0.0, 0.0, 0.0, 3.0, -3.0, 0.2])
    bounds = [(1e-9, np.inf), (-np.inf, -1e-9), (-0.2, -1e-9), (0.0, np.inf), (0.0, np.inf), (-0.2, 0.2)]
    true = [low <= value <= high for value, (low, high) in zip(truth, bounds, strict=True)]
    random, wrong = np.random.default_rng(9), 0
    noise = correlation**0.5 * random.normal(size=(1500, 1)) + (1 - correlation) ** 0.5 * random.normal(
        size=(1500, 6)
    )
    errors = (random.chisquare(4, (1500, 6)) / 4) ** 0.5
    p_values = claim_p(Estimates(truth + noise, errors, np.full((1500, 6), 4.0)), *np.array(bounds).T)
    for outside, inside in zip(*(each.tolist() for each in p_values), strict=True):
        family = corrected([ClaimTest(*each) for each in zip(outside, inside, strict=True)])
        wrong += any(
            one.contradicted() if is_true else one.supported() for one, is_true in zip(family, true, strict=True)
        )
    assert wrong / 1500 <= 0.05 + 3 * (0.05 * 0.95 / 1500) ** 0.5
