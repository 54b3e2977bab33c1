"""Contracts of every policy: budget, no use of unobserved values, NaN never wins, deterministic in the seed."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.replay import POLICIES, RECOMMENDED
from runners.replay.curves.recorded import from_table
from runners.replay.curves.synthetic import FAMILIES, synthetic
from runners.replay.replay import CurveTask, replay
from runners.replay.simulation import Action, Simulation, View
from tests.factories.replays import moves_of

every_policy = pytest.mark.parametrize("name", sorted(POLICIES))
CANDIDATES, POINTS = 24, 9


def falling(seed: int, broken: float = 0.0) -> np.ndarray:
    """Return falling curves [candidates, points], a share of them broken from some point on."""
    generator = np.random.default_rng(seed)
    ends, steps = generator.random((CANDIDATES, 1)), np.arange(1, POINTS + 1)
    values = ends + generator.random((CANDIDATES, 1)) / steps + 0.01 * generator.standard_normal((CANDIDATES, POINTS))
    when = np.where(generator.random(CANDIDATES) < broken, generator.integers(0, POINTS, CANDIDATES), POINTS)
    values[np.arange(POINTS)[None, :] >= when[:, None]] = np.inf
    return values


@every_policy
@settings(max_examples=15)
@given(budget=st.floats(0.05, 30), seed=st.integers(0, 10**6), broken=st.sampled_from((0.0, 0.3, 1.0)))
def test_the_budget_is_never_exceeded(name: str, budget: float, seed: int, broken: float) -> None:
    values = falling(seed, broken)
    for action in moves_of(POLICIES[name], values, budget, seed):
        assert 0 <= action.candidate < CANDIDATES
        assert 1 <= action.points <= POINTS


@every_policy
def test_with_a_large_budget_a_policy_ends_or_finds_the_optimum(name: str) -> None:
    values = falling(3)
    simulation = Simulation(values, np.arange(1, POINTS + 1) / POINTS, np.zeros((CANDIDATES, 0)), CANDIDATES + 1.0)
    *_, last = simulation.run(POLICIES[name], np.random.default_rng(0))
    assert last.spent <= CANDIDATES + 1e-6
    if name in ("random", "architecture", RECOMMENDED):  # policies that never drop a candidate
        assert last.best_seen == values.min()


@every_policy
@pytest.mark.parametrize("seed", range(3))
def test_unobserved_values_change_no_decision(name: str, seed: int) -> None:
    """Unobserved values are redrawn before every action; the actions stay the same."""
    values = falling(seed, 0.2)
    expected = moves_of(POLICIES[name], values, 4.0, seed)
    poisoned, generator = values.copy(), np.random.default_rng(seed + 99)

    def poisoning(view: View, policy_chance: np.random.Generator) -> Iterator[Action]:
        for action in POLICIES[name](view, policy_chance):
            hidden = np.arange(POINTS)[None, :] >= view.reached[:, None]
            poisoned[hidden] = generator.normal(0, 100, hidden.sum())
            asked = slice(int(view.reached[action.candidate]), action.points)
            poisoned[action.candidate, asked] = values[action.candidate, asked]
            yield action

    assert moves_of(poisoning, poisoned, 4.0, seed) == expected


@every_policy
def test_a_diverged_candidate_never_wins_and_is_not_resumed(name: str) -> None:
    values = falling(1, 0.5)
    simulation = Simulation(values, np.arange(1, POINTS + 1) / POINTS, np.zeros((CANDIDATES, 0)), 8.0)
    for state in simulation.run(POLICIES[name], np.random.default_rng(0)):
        assert np.isfinite(state.best_seen) or not np.isfinite(simulation.observed[simulation.reached > 0]).any()
    broken = np.isinf(simulation.observed).sum(axis=1)
    assert broken.max() <= 1  # no training past divergence


@every_policy
def test_policies_handle_nearly_all_candidates_diverging(name: str) -> None:
    values = np.full((CANDIDATES, POINTS), np.inf)
    values[0], values[1] = 1.0, 2.0
    table = from_table("t", [str(each) for each in range(CANDIDATES)], [{}] * CANDIDATES, range(POINTS), values)
    outcomes = [replay(CurveTask.of(table), POLICIES[name], 0.3, seed) for seed in range(5)]
    assert all(outcome.regret in (0.0, 1.0, 2.0) for outcome in outcomes)  # the best, nothing finite, the other
    assert any(outcome.regret == 1.0 for outcome in outcomes)


@every_policy
def test_a_simulation_depends_on_the_seed_and_not_on_the_order_of_the_file(name: str) -> None:
    found = synthetic("diverging", 1, candidates=40, points=12)
    shuffled = np.random.default_rng(5).permutation(40)
    other = replace(
        found,
        candidates=tuple(found.candidates[each] for each in shuffled),
        configs=tuple(found.configs[each] for each in shuffled),
        values=found.values[shuffled],
    )
    assert replay(CurveTask.of(found), POLICIES[name], 4.0, 7) == replay(CurveTask.of(other), POLICIES[name], 4.0, 7)
    assert replay(CurveTask.of(found), POLICIES[name], 4.0, 7) == replay(CurveTask.of(found), POLICIES[name], 4.0, 7)


@every_policy
@pytest.mark.parametrize("points", [1, 2])
def test_scores_without_curves_are_searched_too(name: str, points: int) -> None:
    found = synthetic("power_laws", 2, candidates=30, points=points)
    outcome = replay(CurveTask.of(found), POLICIES[name], 30.0, 0)
    assert outcome.started >= 1
    assert outcome.regret >= 0.0


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_synthetic_families_are_deterministic_in_the_seed(family: str) -> None:
    one, again, other = synthetic(family, 1, 20, 8), synthetic(family, 1, 20, 8), synthetic(family, 2, 20, 8)
    assert np.array_equal(one.values, again.values)
    assert not np.array_equal(one.values, other.values)


def test_controls_keep_the_recommended_policy_out_of_the_worst_of_crossing_curves() -> None:
    """All curves cross in the middle: without controls, policies that trust early values end near the worst."""
    tasks = [CurveTask.of(synthetic("reversed", seed, candidates=100, points=24)) for seed in (1, 2)]

    def regret(name: str) -> float:
        races = [replay(task, POLICIES[name], 10.0, seed) for task in tasks for seed in range(8)]
        return float(np.mean([simulation.regret for simulation in races]))

    assert regret(RECOMMENDED) < 0.5 * regret("asha")
