"""The curve model: exact extrapolation of power laws, shrinking uncertainty, divergence, features."""

import numpy as np
import pytest

from analysis.learning_curve import points_seen, predict_final
from runners.replay.curves.synthetic import synthetic


def seen(values: np.ndarray, points: int) -> np.ndarray:
    found = values.copy()
    found[:, points:] = np.nan
    return found


@pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0])
def test_a_noiseless_power_law_is_extrapolated_exactly(exponent: float) -> None:
    steps = np.arange(1, 41)
    values = np.array([[0.3 + place, 0.5 + place] for place in range(5)])
    curves = values[:, :1] + values[:, 1:] * steps**-exponent
    mean, sd = predict_final(seen(curves, 12))
    assert np.abs(mean - curves[:, -1]).max() < np.abs(curves[:, 11] - curves[:, -1]).max() / 2
    assert (sd > 0).all()


def test_uncertainty_shrinks_with_observed_points() -> None:
    curves = synthetic("power_laws", 3, 40, 30).values
    doubts = [float(np.median(predict_final(seen(curves, points))[1])) for points in (2, 5, 15, 30)]
    assert doubts == sorted(doubts, reverse=True)
    assert np.allclose(predict_final(curves)[0], curves[:, -1])


def test_divergence_is_infinite_and_unobserved_candidates_have_the_spread_of_started_ones() -> None:
    curves = np.array([[1.0, 0.8, np.nan], [1.2, np.inf, np.nan], [0.9, 0.7, 0.6], [np.nan] * 3])
    mean, sd = predict_final(curves)
    assert np.isinf(mean[1])
    assert np.isfinite(mean[[0, 2, 3]]).all()
    assert sd[3] > sd[2]
    assert points_seen(curves).tolist() == [2, 2, 3, 0]


def test_nothing_started_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to predict"):
        predict_final(np.full((3, 4), np.nan))


def test_features_rank_candidates_that_were_never_started() -> None:
    found = synthetic("power_laws", 5, 120, 20)
    features = np.array([list(config.values()) for config in found.configs], dtype=np.float64)
    curves = found.values.copy()
    curves[60:], curves[:60, 6:] = np.nan, np.nan
    mean, sd = predict_final(curves, features)
    final = found.values[60:, -1]
    ranked = np.corrcoef(mean[60:].argsort().argsort(), final.argsort().argsort())[0, 1]
    assert ranked > 0.4
    assert sd[60:].mean() > sd[:60].mean()
    blind = predict_final(curves)[0]
    assert len(np.unique(blind[60:])) == 1
