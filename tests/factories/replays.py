"""Small races: hand-made curves, and a record of every move a policy makes."""

import numpy as np

from runners.policies.policy import Action, Policy, PolicyFactory, View
from runners.replay.curves.recorded import RecordedCurves, from_table
from runners.replay.replay import CurveTask
from runners.replay.simulation import Simulation


def curves(values: list[list[float]], configs: list[dict[str, float]] | None = None) -> RecordedCurves:
    """Return curves whose first step is 1, so that a point costs its step's share."""
    names = [f"c{place}" for place in range(len(values))]
    given = configs or [{"x": float(place)} for place in range(len(values))]
    return from_table("hand-made", names, given, range(1, len(values[0]) + 1), np.array(values, dtype=np.float64))


class Recording:
    """A policy that notes its actions."""

    def __init__(self, policy: Policy, found: list[Action]) -> None:
        self._policy, self._found = policy, found
        self.observe = policy.observe

    def next_action(self) -> Action | None:
        action = self._policy.next_action()
        if action is not None:
            self._found.append(action)
        return action


def moves_of(policy: PolicyFactory, values: np.ndarray, budget: float, seed: int = 0) -> list[Action]:
    """Return the moves that a policy could pay for on values [candidates, points], candidates drawn in that order."""
    found: list[Action] = []

    def recording(view: View, chance: np.random.Generator) -> Policy:
        return Recording(policy(view, chance), found)

    points = values.shape[1]
    features = np.linspace(0, 1, 2 * len(values)).reshape(-1, 2) % 0.7
    race = Simulation(values, np.arange(1, points + 1) / points, features, budget)
    made = list(race.run(recording, np.random.default_rng(seed)))
    assert all(moment.spent <= budget + 1e-6 for moment in made)
    return found[: len(made)]


def task(recorded: RecordedCurves) -> CurveTask:
    return CurveTask.of(recorded)
