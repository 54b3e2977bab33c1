"""Small races: hand-made curves, and a record of every move a policy makes."""

from collections.abc import Iterator

import numpy as np

from runners.replay.curves.recorded import RecordedCurves, from_table
from runners.replay.replay import CurveTask
from runners.replay.simulation import Action, Policy, Simulation, View


def curves(values: list[list[float]], configs: list[dict[str, float]] | None = None) -> RecordedCurves:
    """Return curves whose first step is 1, so that a point costs its step's share."""
    names = [f"c{place}" for place in range(len(values))]
    given = configs or [{"x": float(place)} for place in range(len(values))]
    return from_table("hand-made", names, given, range(1, len(values[0]) + 1), np.array(values, dtype=np.float64))


def moves_of(policy: Policy, values: np.ndarray, budget: float, seed: int = 0) -> list[Action]:
    """Return the moves that a policy could pay for on values [candidates, points], candidates drawn in that order."""
    found: list[Action] = []

    def recording(view: View, chance: np.random.Generator) -> Iterator[Action]:
        for move in policy(view, chance):
            found.append(move)
            yield move

    points = values.shape[1]
    features = np.linspace(0, 1, 2 * len(values)).reshape(-1, 2) % 0.7
    race = Simulation(values, np.arange(1, points + 1) / points, features, budget)
    made = list(race.run(recording, np.random.default_rng(seed)))
    assert all(moment.spent <= budget + 1e-6 for moment in made)
    return found[: len(made)]


def task(recorded: RecordedCurves) -> CurveTask:
    return CurveTask.of(recorded)
