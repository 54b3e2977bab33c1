"""`plan` estimates time and disk from what was measured on this machine, and says so where nothing was."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from runners.cost_estimate.past_runs import measured_under
from runners.dag import shared_stages, trial_stages
from runners.opening import RunRequest, open_ledger
from runners.plan import plan_of
from runners.settings import Selection
from runners.stages.stage import Stage
from search_space.cost import MATMUL
from steeplechase.commands.arguments import choose
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Record, Status
from tests.factories.command_calls import TABLE, Call
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.plans import kept, planned
from tests.factories.stage_results import plausible


def finished(trial: str, label: str, stage: Stage, seconds: float) -> Record:
    return Record(0, trial, stage.kind, label, stage.key, Status.FINISHED, plausible(stage.kind), seconds, False)


def test_time_and_disk_are_unknown_without_measurements(call: Call, tmp_path: Path) -> None:
    document = planned(call, TABLE, "--scale", "smoke", "--out", tmp_path)
    assert document["prediction"]["seconds"] is None
    assert document["prediction"]["bytes"] is None
    kinds = ["contamination", "corpus", "evaluation_set", "examples", "fine_tune", "pretrain", "tokens"]
    assert document["prediction"]["never_measured"] == kinds
    answer = " ".join(call("plan", TABLE, "--out", tmp_path).out.split())
    assert (
        "time, disk: no estimate yet; these stages have not run on this machine at these sizes: contamination"
        in answer
    )
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_a_killed_run_has_not_filled_does_not_prevent_another_plan(tmp_path: Path) -> None:
    for name, begun in (("created", ()), ("opened", ("PRAGMA journal_mode=WAL",))):
        (tmp_path / name).mkdir()
        with closing(sqlite3.connect(tmp_path / name / LEDGER_NAME)) as ledger:
            for command in begun:
                ledger.execute(command)
        (tmp_path / name / LEDGER_NAME).touch()
    assert measured_under(tmp_path, ArtifactStore(tmp_path / "stages")) == ()
    (tmp_path / "created" / LEDGER_NAME).write_text("damaged")
    with pytest.raises(CorruptionError, match="created"):
        measured_under(tmp_path, ArtifactStore(tmp_path / "stages"))


def test_time_and_disk_scale_with_the_work_from_what_was_measured(tmp_path: Path) -> None:
    """One arm of the table is measured at a known pace and weight; the others are told from it."""
    chosen, places = choose(TABLE, "smoke"), ResultPaths.of(tmp_path / "here")
    experiment, store = chosen.experiment, ArtifactStore(places.stages)
    shared = shared_stages(experiment)
    with open_ledger(RunRequest(experiment, "smoke", places)) as ledger:
        declare_first_cohort(experiment, store, ledger)
        arm = ledger.arms()[0]
        for label, stage in trial_stages(experiment, shared, experiment.baseline, 1).items():
            seconds = arm.train_flops / 1e6 if label.startswith("pretrain") else 5.0
            kept(store, stage, b"x" * arm.parameters)
            ledger.add_record(finished("baseline/1", label, stage, seconds))
    plan = plan_of(experiment, Selection(out=tmp_path / "here"), MATMUL, "smoke")
    assert plan.prediction is not None
    assert plan.prediction.seconds is not None
    assert plan.prediction.bytes is not None
    assert set(plan.prediction.never_measured) == {"corpus", "tokens", "evaluation_set", "examples", "contamination"}
    left = [arm for row in plan.arms for arm in [row] * (1 if row.arm.name == "baseline" else 2)]
    pretraining = sum(row.train_flops for row in left) / 1e6
    tuning = sum(3 * 5.0 * row.forward_flops for row in left) / plan.arms[0].forward_flops  # length 64 in place of 32
    assert plan.prediction.seconds.middle == pytest.approx(pretraining + tuning, rel=0.05)
    weight = 4 * sum(row.parameters for row in left)
    assert plan.prediction.bytes.middle == pytest.approx(weight, rel=0.05)
    assert plan.prediction.measured == 4
