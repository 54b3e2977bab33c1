"""Policies on examples worked by hand, and with a fixed budget."""

import numpy as np
import pytest

from runners.policies import POLICIES
from runners.policies.fixed_budget import fixed_budget
from runners.policies.policy import Action
from runners.replay.simulation import Simulation
from tests.factories.replays import moves_of

LEVELS = np.linspace(0.9, 0.1, 9)[:, None] * np.ones((1, 9))  # candidate 8 is best throughout


def as_pairs(actions: list[Action]) -> list[tuple[int, int]]:
    return [(action.candidate, action.points) for action in actions]


def test_successive_halving_keeps_the_best_third_of_nine() -> None:
    every = [(each, 1) for each in range(9)]
    assert as_pairs(moves_of(POLICIES["successive_halving"], LEVELS, 9.0)) == [*every, (6, 3), (7, 3), (8, 3), (8, 9)]


CANDIDATES, POINTS, BUDGET = 24, 8, 5.0


def simulation(values: np.ndarray) -> Simulation:
    return Simulation(values, np.arange(1, POINTS + 1) / POINTS, np.zeros((CANDIDATES, 0)), BUDGET)


@pytest.mark.parametrize(("share", "points"), [(1 / 4, 2), (0.3, 3), (1 / 2, 4), (1, 8)])
def test_every_candidate_is_trained_to_the_same_point(share: float, points: int) -> None:
    race = simulation(np.random.default_rng(1).random((CANDIDATES, POINTS)))
    turns = list(race.run(fixed_budget(share), np.random.default_rng(0)))
    trained = min(CANDIDATES, int(BUDGET * POINTS // points))
    assert race.reached.tolist()[:trained] == [points] * trained
    assert turns[-1].spent <= BUDGET
    assert len(turns) in (trained, trained + 1)  # the last may be paid in part
