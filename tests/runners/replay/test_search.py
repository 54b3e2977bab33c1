"""Searches on recorded curves stop the same candidates as in `run`; their regret, and the model of curves."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from runners.replay.curves.recorded import RecordedCurves, from_table
from runners.replay.replay import CurveTask, regrets, replay, trainings
from runners.replay.search import features_of
from runners.replay.settings import SEARCHES, TOKENS, SearchSettings, SettingsOf
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.hurdles.cohorts import Asha, Hyperband, TopFraction
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rank_checked import RankChecked
from steeplechase.configuration.hurdles.rungs import Hurdle
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Status
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import SEARCH, Track, chance_of
from tests.factories.synthetic_curves import synthetic

POINTS, RUN_TOKENS, COHORT = 4, 2560, 4
RUNGS = (1, 2)
HURDLES = (
    TopFraction(rungs=RUNGS, keep=0.5),
    Asha(rungs=RUNGS, reduction_factor=2),
    Hyperband(rungs=RUNGS, reduction_factor=2),
    RankChecked(rungs=RUNGS, reduction_factor=2, correlation=0.1),
    ProgressiveMean(rungs=RUNGS),
    ProgressiveMean(rungs=RUNGS, population="all_so_far"),
)


def curve_value(trial: str, point: int, seed: int) -> float:
    """Return a curve's value at a point; infinite for a candidate in ten from a point on."""
    diverges = [chance_of("diverges", trial, at, seed) < 0.05 for at in range(1, point + 1)]
    return np.inf if any(diverges) else chance_of(trial, point, seed)


def scaled(hurdle: Hurdle, tokens: int) -> Any:
    """Return a hurdle whose rungs are points, as one whose rungs are tokens."""
    return hurdle.model_copy(update={"rungs": tuple(point * tokens // POINTS for point in RUNGS)})


def reached_in_run(folder: Path, hurdle: Hurdle, seed: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return the tokens of each candidate in a real run, and its cohort."""

    def answer(work: StageTask) -> Outcome | Failure:
        if work.trial is None:
            return simulated.curve(work)
        point = work.stage.declaration.to_step * simulated.TOKENS_PER_STEP * POINTS // RUN_TOKENS
        found = curve_value(work.trial, point, seed)
        if work.trial.startswith(BASELINE) or np.isinf(found):
            return Outcome(Status.DIVERGED, {"tokens": 64, "loss": "nan"}, 1.0)
        tokens = point * RUN_TOKENS // POINTS
        return Outcome(
            Status.FINISHED, {"tokens": tokens, "held_out_loss": found, "held_out_curve": [[tokens, found]]}, 1.0
        )

    declared = json.loads(scaled(hurdle, RUN_TOKENS).model_dump_json())
    pretraining = {"tokens": RUN_TOKENS, "seeds": [1], "hurdle": declared}
    asked = simulated.search(folder, design={**SEARCH, "cohort": COHORT}, pretraining=pretraining)
    snapshot = Track(asked, folder, answer, workers=1, ledger_path=Path(":memory:"), publishes=False).run()
    cohorts = {f"{arm.name}/1": arm.cohort for arm in snapshot.arms if arm.name != BASELINE}
    records = {one.trial.name: len(one.records) for one in snapshot.histories}
    return {name: records[name] for name in cohorts}, cohorts


def reached(values: np.ndarray, settings_of: SettingsOf, budget: float = 1000.0) -> list[int]:
    """Return the points of every candidate at the end of a replay, candidates entering in their order."""
    points = [0] * len(values)
    costs, features = np.arange(1, values.shape[1] + 1) / values.shape[1], features_of([{}] * len(values))
    for each in trainings(values, costs, features, settings_of, budget, 0):
        points[each.candidate] = each.points.stop
    return points


class Recorded:
    """A hurdle with cohorts of given sizes: in `run` the baseline is in the first cohort."""

    def __init__(self, hurdle: Hurdle, sizes: list[int]) -> None:
        self.rungs_of, self.decide, self.fixes_thresholds = hurdle.rungs_of, hurdle.decide, hurdle.fixes_thresholds
        self._sizes = sizes

    def cohort_size(self, number: int, asked: int) -> int:
        return self._sizes[number]


@pytest.mark.parametrize("hurdle", HURDLES, ids=lambda hurdle: f"{hurdle.kind} {getattr(hurdle, 'population', '')}")
@pytest.mark.parametrize("seed", range(1, 3))
def test_a_hurdle_stops_the_same_candidates_as_in_run(tmp_path: Path, hurdle: Hurdle, seed: int) -> None:
    expected, cohorts = reached_in_run(tmp_path, hurdle, seed)
    sizes = [list(cohorts.values()).count(number) for number in range(max(cohorts.values()) + 1)]
    values = np.array([[curve_value(name, point, seed) for point in range(1, POINTS + 1)] for name in expected])
    values[:, 2] = values[:, 3]  # `run` does not look between the second rung and the end
    settings = SearchSettings(Recorded(scaled(hurdle, TOKENS), sizes))  # type: ignore[arg-type]
    assert [min(points, 3) for points in reached(values, lambda costs: settings)] == list(expected.values())
    assert len(set(expected.values())) > 1


def test_successive_halving_keeps_the_best_third_of_nine() -> None:
    values = np.linspace(0.9, 0.1, 9)[:, None] * np.ones((1, 9))  # candidate 8 is best throughout
    assert reached(values, SEARCHES["successive_halving"]) == [1] * 6 + [3, 3, 9]


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("points", [1, 2, 9])
def test_unobserved_values_change_no_decision_and_the_budget_is_kept(name: str, points: int) -> None:
    """Values that no training has shown are redrawn after the first replay."""
    generator = np.random.default_rng(points)
    values = generator.random((40, points)).cumsum(axis=1)[:, ::-1]
    values[::9, points // 2 :] = np.inf
    features, costs = features_of([{"x": float(x)} for x in generator.random(40)]), np.arange(1, points + 1) / points
    found = [*trainings(values, costs, features, SEARCHES[name], 4.0, 0)]
    hidden = np.ones_like(values, dtype=bool)
    for each in found:
        hidden[each.candidate, each.points.start : each.points.stop] = False
    assert 3.0 < (~hidden).sum() / points <= 4.0 + 1e-9
    redrawn = np.where(hidden, generator.normal(0, 9, values.shape), values)
    assert [*trainings(redrawn, costs, features, SEARCHES[name], 4.0, 0)] == found


@pytest.mark.parametrize("seed", range(3))
def test_asha_stops_the_same_candidates_as_optuna(seed: int) -> None:
    """Oracle: Optuna's pruner, consulted after every point."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    values = np.random.default_rng(seed).random((40, 30))
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner)
    expected = []
    for curve in values.tolist():
        trial = study.ask()
        for points, value in enumerate(curve, 1):
            trial.report(value, points)
            if trial.should_prune():
                break
        pruned = points < len(curve)
        study.tell(trial, None if pruned else value, optuna.trial.TrialState.PRUNED if pruned else None)
        expected.append(points)
    assert reached(values, SEARCHES["asha"]) == expected
    assert len(set(expected)) > 2


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
