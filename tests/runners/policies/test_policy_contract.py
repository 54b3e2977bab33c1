"""Contracts of every policy: budget, no use of unobserved values, NaN never wins, deterministic in the seed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.policies import POLICIES, RECOMMENDED
from runners.policies.policy import Action, Policy, View
from runners.policies.race import Race
from runners.replay.curves.recorded import from_table
from runners.replay.replay import CurveTask, replay
from runners.replay.simulation import Simulation
from tests.factories.replays import moves_of
from tests.factories.synthetic_curves import synthetic

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

    class Poisoning:
        def __init__(self, view: View, policy: Policy) -> None:
            self._view, self._policy, self.observe = view, policy, policy.observe

        def next_action(self) -> Action | None:
            action = self._policy.next_action()
            if action is not None:
                hidden = np.arange(POINTS)[None, :] >= self._view.reached[:, None]
                poisoned[hidden] = generator.normal(0, 100, hidden.sum())
                asked = slice(int(self._view.reached[action.candidate]), action.points)
                poisoned[action.candidate, asked] = values[action.candidate, asked]
            return action

    def poisoning(view: View, policy_chance: np.random.Generator) -> Policy:
        return Poisoning(view, POLICIES[name](view, policy_chance))

    assert moves_of(poisoning, poisoned, 4.0, seed) == expected


@every_policy
def test_a_diverged_candidate_never_wins_and_is_not_resumed(name: str) -> None:
    values = falling(1, 0.5)
    simulation = Simulation(values, np.arange(1, POINTS + 1) / POINTS, np.zeros((CANDIDATES, 0)), 8.0)
    for state in simulation.run(POLICIES[name], np.random.default_rng(0)):
        seen = np.arange(POINTS)[None, :] < simulation.reached[:, None]
        assert np.isfinite(state.best_seen) or not np.isfinite(values[seen]).any()
    assert (np.isinf(values) & seen).sum(axis=1).max() <= 1  # no training past divergence


@every_policy
@pytest.mark.parametrize("workers", [2, 64])
def test_several_workers_spend_the_same_budget_on_the_same_candidates(name: str, workers: int) -> None:
    values = falling(4, 0.2)
    simulation = Simulation(values, np.arange(1, POINTS + 1) / POINTS, np.zeros((CANDIDATES, 0)), 6.0)
    states = list(simulation.run(POLICIES[name], np.random.default_rng(0), workers))
    assert all(state.spent <= 6.0 + 1e-6 for state in states)
    assert [state.spent for state in states] == sorted(state.spent for state in states)
    assert states[-1].best_seen == values[np.arange(POINTS)[None, :] < simulation.reached[:, None]].min()


@every_policy
@pytest.mark.parametrize("at_once", [1, 2, 64])
def test_decisions_depend_on_the_order_of_arrival_alone(name: str, at_once: int) -> None:
    """A race that is fed the arrivals of another one takes the same decisions, as a resumed run does."""
    values, costs = falling(5, 0.2), np.arange(1, POINTS + 1) / POINTS
    features = np.random.default_rng(6).random((CANDIDATES, 3))
    order = np.random.default_rng(at_once)

    def race() -> Race:
        return Race(POLICIES[name], features, costs, 6.0, np.random.default_rng(0))

    first, second = race(), race()
    taken, again = [*first.actions(at_once)], [*second.actions(at_once)]
    while first.targets:
        candidate = int(order.choice(sorted(first.targets)))
        seen = values[candidate, int(first.reached[candidate]) : first.targets[candidate]]
        broken = np.flatnonzero(np.isinf(seen))
        arrived = seen[: int(broken[0]) + 1] if len(broken) else seen
        first.arrive(candidate, arrived.tolist())
        second.arrive(candidate, arrived.tolist())
        taken += first.actions(at_once)
        again += second.actions(at_once)
    assert taken == again
    assert len(taken) > at_once or at_once == 64


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
