"""Regret of a replay, and the model of curves."""

from dataclasses import replace

import numpy as np
import pytest

from runners.replay.curves.recorded import RecordedCurves, from_table
from runners.replay.replay import CurveTask, regrets, replay
from runners.replay.settings import SEARCHES
from tests.factories.synthetic_curves import synthetic

TABLE = [[0.9, 0.5], [0.8, 0.7], [0.3, 0.9], [0.95, 0.6], [0.9, 1.1]]  # optimum 0.3 midway, median final 0.7


def curves(values: list[list[float]]) -> RecordedCurves:
    """Return curves whose first step is 1, so that a point costs its step's share."""
    configs = [{"x": float(place)} for place in range(len(values))]
    names = [f"c{place}" for place in range(len(values))]
    return from_table("hand-made", names, configs, range(1, len(values[0]) + 1), np.array(values, dtype=np.float64))


def task(recorded: RecordedCurves) -> CurveTask:
    return CurveTask.of(recorded)


def test_best_seen_is_over_all_steps_and_the_choice_has_its_final_value() -> None:
    outcome = replay(task(curves(TABLE)), SEARCHES["random"], 5.0, 0)
    assert outcome.regret == 0.0  # 0.3 was seen
    assert outcome.regret_of_choice == pytest.approx((0.9 - 0.5) / (0.7 - 0.5))  # and its holder ends at 0.9
    assert (outcome.started, outcome.finished, outcome.spent) == (5, 5, 5.0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [((1, 2, 4), (0.25, 0.5, 1.0)), ((0, 1, 2), (1 / 3, 2 / 3, 1.0)), ((100,), (1.0,)), ((0,), (1.0,))],
)
def test_a_point_costs_its_share_of_all_steps(steps: tuple[int, ...], expected: tuple[float, ...]) -> None:
    values = np.array([[1.0] * len(steps), [2.0] * len(steps)])
    assert tuple(from_table("t", "ab", [{}, {}], steps, values).costs) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["asha", "hyperband", "rank_checked"])
def test_one_race_has_the_regrets_of_races_with_smaller_budgets(name: str) -> None:
    curves_that_break, budgets = CurveTask.of(synthetic("diverging", 1, 40, 12)), (0.05, 1.3, 2.0, 6.0)
    expected = [replay(curves_that_break, SEARCHES[name], budget, 3).regret for budget in budgets]
    assert regrets(curves_that_break, SEARCHES[name], budgets, 3) == expected
    assert len(set(expected)) > 2


@pytest.mark.parametrize("name", SEARCHES)
def test_a_replay_depends_on_the_seed_and_not_on_the_order_of_the_file(name: str) -> None:
    found = synthetic("diverging", 1, candidates=40, points=12)
    shuffled = np.random.default_rng(5).permutation(40)
    other = replace(
        found,
        candidates=tuple(found.candidates[each] for each in shuffled),
        configs=tuple(found.configs[each] for each in shuffled),
        values=found.values[shuffled],
    )
    first, second = (replay(CurveTask.of(each), SEARCHES[name], 4.0, 7) for each in (found, other))
    assert first == second
