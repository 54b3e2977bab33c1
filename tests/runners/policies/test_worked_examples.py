"""Successive halving, ASHA, Hyperband and progressive hurdles on examples worked by hand."""

import numpy as np

from runners.policies import POLICIES
from runners.policies.policy import Action
from tests.factories.replays import moves_of

LEVELS = np.linspace(0.9, 0.1, 9)[:, None] * np.ones((1, 9))  # candidate 8 is best throughout


def as_pairs(actions: list[Action]) -> list[tuple[int, int]]:
    return [(action.candidate, action.points) for action in actions]


def test_successive_halving_keeps_the_best_third_of_nine() -> None:
    every = [(each, 1) for each in range(9)]
    assert as_pairs(moves_of(POLICIES["successive_halving"], LEVELS, 9.0)) == [*every, (6, 3), (7, 3), (8, 3), (8, 9)]


def test_greedy_freeze_thaw_abandons_a_flat_curve() -> None:
    flat = [0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    steady = [1.0, 0.8, 0.68, 0.6, 0.54, 0.49, 0.45, 0.41]
    found = as_pairs(moves_of(POLICIES["freeze_thaw"], np.array([flat, steady]), 2.0))
    reached_by_flat = max(points for candidate, points in found if candidate == 0)
    assert (1, 8) in found
    assert found.index((1, 8)) < next((place for place, action in enumerate(found) if action == (0, 8)), len(found))
    assert reached_by_flat >= 2


def test_promoting_asha_resumes_the_best_third_at_the_highest_rung() -> None:
    """Every candidate is the best so far: candidate 2 is the best of three, 4 also the best of three at 3 points."""
    first = [(0, 1), (1, 1), (2, 1), (2, 3), (3, 1), (3, 3), (4, 1), (4, 3), (4, 9)]
    assert as_pairs(moves_of(POLICIES["promoting_asha"], LEVELS, 3.0))[:9] == first


def test_promoting_asha_promotes_a_candidate_that_it_had_paused() -> None:
    """The worst come last: the second best is promoted when six candidates make a third of two."""
    found = as_pairs(moves_of(POLICIES["promoting_asha"], LEVELS[::-1], 9.0))
    assert found.index((1, 3)) > found.index((5, 1)) > found.index((0, 3)) > found.index((2, 1))
