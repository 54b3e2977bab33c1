"""The hypervolume of two objectives: Optuna's own function as the oracle, and what more points can do."""

import numpy as np
import pytest
from optuna._hypervolume import compute_hypervolume

from steeplechase.analysis.search_trace import hypervolume


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_it_is_optunas(count: int) -> None:
    for seed in range(20):
        points = np.random.default_rng(seed).random((count, 2))
        assert hypervolume(points) == pytest.approx(compute_hypervolume(points, np.ones(2)))


def test_a_point_never_takes_volume_away_and_a_dominated_one_adds_none() -> None:
    points = np.random.default_rng(0).random((30, 2))
    volumes = [hypervolume(points[:count]) for count in range(31)]
    assert volumes[0] == 0
    assert volumes == sorted(volumes)
    worse = np.clip(points[:5] + 0.1, 0, 1)
    assert hypervolume(np.concatenate([points[:5], worse])) == hypervolume(points[:5])
    assert hypervolume(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]])) == 0
