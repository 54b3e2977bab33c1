"""The fitted prior recovers the one that made the variances; its limits are Welch's t and a common variance."""

import numpy as np
import pytest
from scipy import special

from analysis.estimates import Moments, moments
from analysis.moderated import _inverse_trigamma, fit_prior, moderated, moderated_contrasts
from analysis.welch import contrasts, differences_from_first


def test_the_inverse_trigamma_inverts_trigamma() -> None:
    x = np.geomspace(1e-3, 1e6, 200)
    assert _inverse_trigamma(special.polygamma(1, x)) == pytest.approx(x, rel=1e-6)


@pytest.mark.parametrize(("d0", "s0"), [(3.0, 0.2), (6.0, 4.0)])
def test_the_prior_is_recovered_from_many_samples(d0: float, s0: float) -> None:
    random = np.random.default_rng(2)
    variances = d0 * s0 / random.chisquare(d0, 40_000)
    values = random.normal(size=(40_000, 4)) * variances[:, None] ** 0.5
    found = fit_prior(moments(values))
    assert float(found.degrees) == pytest.approx(d0, rel=0.15)
    assert float(found.variance) == pytest.approx(s0, rel=0.03)


def test_equal_variances_are_pooled() -> None:
    values = np.array([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0], [0.0, 1.0, 2.0]])
    posterior, degrees = moderated(moments(values))
    assert posterior.variance == pytest.approx([1.0, 1.0, 1.0])
    assert degrees == pytest.approx([6.0, 6.0, 6.0])
    assert moderated_contrasts(moments(values), differences_from_first(3)).degrees == pytest.approx([6.0, 6.0])


def test_variances_are_drawn_together_and_never_past_each_other() -> None:
    sample = moments(np.random.default_rng(4).normal(size=(200, 6, 3)) * np.exp(np.arange(6)[:, None] / 2))
    posterior, degrees = moderated(sample)
    order, after = np.argsort(sample.variance), np.argsort(posterior.variance)
    drawn = np.ptp(np.log(posterior.variance), axis=-1) < np.ptp(np.log(sample.variance), axis=-1)
    assert drawn.all()
    spread = np.ptp(posterior.variance, axis=-1) > 1e-6
    assert (order == after)[spread].all()
    assert ((degrees >= 2) & (degrees <= 12)).all()


def test_an_arm_with_one_seed_borrows_and_one_without_has_no_test() -> None:
    values = np.array([[1.0, 2.0, 3.5], [2.0, np.nan, np.nan], [np.nan] * 3, [0.0, 1.0, 5.0]])
    found = moderated_contrasts(moments(values), differences_from_first(4))
    assert np.isnan(found.p()).tolist() == [False, True, False]
    assert np.isnan(contrasts(moments(values), differences_from_first(4)).p()).tolist() == [True, True, False]


def test_a_sample_without_spread_is_left_out_of_the_fit() -> None:
    variances = np.array([0.5, 1.0, 2.0, 4.0])
    whole = fit_prior(Moments(np.full(4, 3.0), np.zeros(4), variances))
    more = fit_prior(Moments(np.full(5, 3.0), np.zeros(5), np.append(variances, 0.0)))
    assert (float(more.degrees), float(more.variance)) == pytest.approx((float(whole.degrees), float(whole.variance)))
