"""Halving, ASHA, Hyperband and progressive hurdles against examples worked by hand."""

import numpy as np

from runners.replay import POLICIES
from runners.replay.simulation import Action
from tests.factories.replays import moves_of

LEVELS = np.linspace(0.9, 0.1, 9)[:, None] * np.ones((1, 9))  # candidate 8 is best throughout


def as_pairs(moves: list[Action]) -> list[tuple[int, int]]:
    return [(move.candidate, move.points) for move in moves]


def test_successive_halving_keeps_the_best_third_of_nine() -> None:
    every = [(each, 1) for each in range(9)]
    assert as_pairs(moves_of(POLICIES["successive_halving"], LEVELS, 9.0)) == [*every, (8, 3), (7, 3), (6, 3), (8, 9)]


def test_asha_promotes_as_soon_as_a_third_allows_it() -> None:
    """Each newcomer is better than all before: of three and more it goes on at once; of three at rung 3 one ends."""
    expected = [(0, 1), (1, 1), (2, 1), (2, 3), (3, 1), (3, 3), (4, 1), (4, 3), (4, 9)]
    assert as_pairs(moves_of(POLICIES["asha"], LEVELS, 17 / 9)) == expected


def test_asha_goes_back_to_one_it_had_passed_over() -> None:
    """Values fall behind: the first stays best; with six at the first rung the second best may follow."""
    expected = [(0, 1), (1, 1), (2, 1), (0, 3), (3, 1), (4, 1), (5, 1), (1, 3)]
    assert as_pairs(moves_of(POLICIES["asha"], LEVELS[::-1], 10 / 9)) == expected


def test_hyperband_begins_bold_and_ends_with_whole_trainings() -> None:
    values = np.linspace(0.9, 0.1, 17)[:, None] * np.ones((1, 9))
    found = as_pairs(moves_of(POLICIES["hyperband"], values, 50.0))
    assert found[:9] == [(each, 1) for each in range(9)]  # bracket 2: 9 from the first rung
    assert found[9:13] == [(8, 3), (7, 3), (6, 3), (8, 9)]
    assert found[13:19] == [*((each, 3) for each in range(9, 14)), (13, 9)]  # bracket 1: ceil(3/2 * 3) = 5
    assert found[19:] == [(14, 9), (15, 9), (16, 9)]  # bracket 0: 3 whole trainings


def test_progressive_hurdles_stand_at_the_mean_and_do_not_move() -> None:
    """Ten set the first hurdle at 0.55; then 0.5 clears it and sets the second mark, 0.6 does not."""
    first = np.linspace(0.1, 1.0, 10)
    later = np.array([0.5, 0.6, 0.54, 0.56, 0.5, 0.6, 0.5, 0.6, 0.5, 0.6])
    values = np.concatenate([first, later])[:, None] * np.ones((1, 4))
    found = as_pairs(moves_of(POLICIES["progressive_mean"], values, 30.0))
    assert found[:10] == [(each, 1) for each in range(10)]
    assert found[10:16] == [(10, 1), (10, 2), (11, 1), (12, 1), (12, 2), (13, 1)]


def test_greedy_freeze_thaw_leaves_a_curve_that_goes_flat() -> None:
    flat = [0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    steady = [1.0, 0.8, 0.68, 0.6, 0.54, 0.49, 0.45, 0.41]
    found = as_pairs(moves_of(POLICIES["freeze_thaw"], np.array([flat, steady]), 2.0))
    reached_by_flat = max(points for candidate, points in found if candidate == 0)
    assert (1, 8) in found
    assert found.index((1, 8)) < next((place for place, move in enumerate(found) if move == (0, 8)), len(found))
    assert reached_by_flat >= 2
