"""The simulated executor: hurdles stop the same candidates in `replay` as in `run`, and every cohort ends."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from runners.policies import POLICIES
from runners.policies.hurdle_policy import TOKENS, HurdleSettings, hurdle_policy
from runners.policies.policy import Numbers
from runners.replay.simulation import Simulation
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.hurdles import Asha, HurdleRule, Hyperband, ProgressiveMean, TopFraction
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Status
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import SEARCH, Track, chance_of

POINTS, RUN_TOKENS, COHORT = 4, 2560, 4
RUNGS = (1, 2)
HURDLES = (
    TopFraction(rungs=RUNGS, keep=0.5),
    Asha(rungs=RUNGS, reduction_factor=2),
    Hyperband(rungs=RUNGS, reduction_factor=2),
    ProgressiveMean(rungs=RUNGS),
    ProgressiveMean(rungs=RUNGS, population="all_so_far"),
)


def curve_value(trial: str, point: int, seed: int) -> float:
    """Return a curve's value at a point; infinite for a candidate in ten from a point on."""
    diverges = [chance_of("diverges", trial, at, seed) < 0.05 for at in range(1, point + 1)]
    return np.inf if any(diverges) else chance_of(trial, point, seed)


def scaled(hurdle: HurdleRule, tokens: int) -> Any:
    """Return a hurdle whose rungs are points, as one whose rungs are tokens."""
    return hurdle.model_copy(update={"rungs": tuple(point * tokens // POINTS for point in RUNGS)})


def reached_in_run(folder: Path, hurdle: HurdleRule, seed: int) -> tuple[dict[str, int], dict[str, int]]:
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


class Recorded:
    """A hurdle with cohorts of given sizes: in `run` the baseline is in the first cohort."""

    def __init__(self, hurdle: HurdleRule, sizes: list[int]) -> None:
        self.rungs_of, self.decide = hurdle.rungs_of, hurdle.decide
        self._sizes = sizes

    def cohort_size(self, number: int, asked: int) -> int:
        return self._sizes[number]


@pytest.mark.parametrize("hurdle", HURDLES, ids=lambda hurdle: f"{hurdle.kind} {getattr(hurdle, 'population', '')}")
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_hurdle_stops_the_same_candidates_as_in_run(tmp_path: Path, hurdle: HurdleRule, seed: int) -> None:
    expected, cohorts = reached_in_run(tmp_path, hurdle, seed)
    sizes = [list(cohorts.values()).count(number) for number in range(max(cohorts.values()) + 1)]
    values = np.array([[curve_value(name, point, seed) for point in range(1, POINTS + 1)] for name in expected])
    values[:, 2] = values[:, 3]  # `run` does not look between the second rung and the end
    settings = HurdleSettings(Recorded(scaled(hurdle, TOKENS), sizes))  # type: ignore[arg-type]
    simulation = Simulation(values, np.array([0.25, 0.5, 0.75, 1.0]), np.zeros((len(values), 0)), 1000.0)
    list(simulation.run(hurdle_policy(lambda costs: settings), np.random.default_rng(0)))
    stages = {0: 0, 1: 1, 2: 2, 3: 3, 4: 3}
    assert [stages[int(points)] for points in simulation.reached] == list(expected.values())
    assert len(set(expected.values())) > 1


@pytest.mark.parametrize("hurdle", HURDLES, ids=lambda hurdle: hurdle.kind)
def test_every_candidate_is_started_and_every_cohort_ends(hurdle: HurdleRule) -> None:
    values = np.random.default_rng(2).random((30, POINTS))
    values[::7, 1:] = np.inf

    def settings_of(costs: Numbers) -> HurdleSettings:
        return HurdleSettings(scaled(hurdle, TOKENS), 8)

    simulation = Simulation(
        values, np.array([0.25, 0.5, 0.75, 1.0]), np.random.default_rng(3).random((30, 2)), 1000.0
    )
    list(simulation.run(hurdle_policy(settings_of), np.random.default_rng(0)))
    assert (simulation.reached > 0).all()
    assert (simulation.reached == POINTS).any()
    assert (simulation.reached < POINTS).any()


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
    simulation = Simulation(values, np.arange(1, 31) / 30, np.zeros((40, 0)), 1000.0)
    list(simulation.run(POLICIES["asha"], np.random.default_rng(0)))
    assert simulation.reached.tolist() == expected
    assert len(set(expected)) > 2
