"""`plan` tells what tuning costs before it is spent."""

from pathlib import Path
from typing import Any

import pytest

from runners.opening import RunRequest, open_ledger
from steeplechase.commands.arguments import choose
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.paths import ResultPaths
from tests.factories.command_calls import ROOT, Call
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.plans import planned, written

TUNED = ROOT / "experiments" / "tuned.yaml"
DESIGN = "design: { kind: list, arms: { narrow: { bottleneck_ratio: 2 }, shallow: { depth: 1 } } }\n"
LISTED = "tune: { vary: { recipe.peak_learning_rate: [1e-3, 5e-4] }, trials: 4, seeds: [7, 8], tokens: 500000 }\n"
RANGE = "tune: { vary: { recipe.peak_learning_rate: { low: 1e-3, high: 2e-3, log: true } }, trials: 5, seeds: [7] }\n"


@pytest.mark.parametrize(("tune", "points", "seeds"), [(LISTED, 2, 2), (RANGE, 5, 1)])
def test_the_planned_trials_are_those_that_run(
    call: Call, tmp_path: Path, tune: str, points: int, seeds: int
) -> None:
    file = written(tmp_path, DESIGN + tune)
    chosen = choose(file, None)
    plan = planned(call, file, "--out", tmp_path / "results")["tuning"]
    request = RunRequest(chosen.experiment, chosen.scale, ResultPaths.of(tmp_path / "results"))
    with open_ledger(request) as ledger:
        declare_first_cohort(chosen.experiment, ArtifactStore(request.paths.stages), ledger)
        arms = {arm.name: arm for arm in ledger.arms() if arm.tuning_trial_of is not None}
        trials = [trial for trial in ledger.trials() if trial.arm in arms]
    assert plan["trials"] == len(trials) == 3 * points * seeds
    assert plan["points_per_arm"] == points
    assert plan["stages"] == len(trials)  # one stage each: nothing is fine-tuned for a loss
    assert plan["train_flops"] == sum(arms[trial.arm].train_flops for trial in trials)
    assert plan["arms_at_own_recipe_at_most"] == 3
    begun = planned(call, file, "--out", tmp_path / "results")["tuning"]
    assert len(begun["points"]) == points
    assert begun == plan


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_the_included_experiment_shows_its_points_costs_and_cells(call: Call, tmp_path: Path, scale: str) -> None:
    document = planned(call, TUNED, "--scale", scale, "--out", tmp_path)
    tuning: Any = document["tuning"]
    assert tuning["points"][0] == "shared"
    assert tuning["trials"] == 4 * len(tuning["points"]) * len(tuning["seeds"])
    assert ["tuned metric" in arm["uses"] for arm in document["arms"]] == [False, True, True, True]
    answer = call("plan", TUNED, "--scale", scale, "--out", tmp_path)
    tokens = tuning["trials"] * tuning["tokens_per_trial"]
    assert f"{tuning['trials']} trials of" in " ".join(answer.out.split())
    assert f"{tokens:,} tokens" in " ".join(answer.out.split())
