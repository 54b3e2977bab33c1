"""In MLflow the table's arms come first, each before its copy at its own recipe; tuning arms follow."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger.snapshot import Snapshot
from runners.tracking.mirrored_run import RunStatus
from runners.tracking.runs import projected
from runners.work_queue import Failure
from tests.factories.simulated_training import curve
from tests.factories.tuning_runs import best_at, ran, tuned


@pytest.fixture
def done(tmp_path: Path) -> Snapshot:
    answer = best_at({'"dynamic"': 3e-3, "": 5e-4})
    found = ran(tmp_path, tuned(tmp_path), answer=answer, publishes=False, ledger_path=Path(":memory:"))
    return replace(found, labels=("pretrain@2560",))


def of_level(runs: Any, level: str) -> list[Any]:
    return [run for run in runs if run.tags["level"] == level]


def test_every_trial_is_mirrored_once_under_its_arm(done: Snapshot) -> None:
    runs = projected(done, "", ())
    assert done.tuning is not None
    assert [run.name for run in of_level(runs, "arm")] == ["baseline", "narrow", "dynamic", "dynamic@own"]
    assert [run.name for run in of_level(runs, "tuning arm")] == [arm.name for arm in done.tuning.arms]
    assert {run.name for run in of_level(runs, "tuning trial")} == {one.trial.name for one in done.tuning.histories}
    identities = [run.identity for run in runs]
    assert len(set(identities)) == len(identities)
    assert all(run.parent in identities for run in runs[1:])
    assert {run.status for run in runs} == {RunStatus.FINISHED}
    for run in of_level(runs, "tuning trial"):
        assert "final/held_out_loss" in {point.key for point in run.points}
    orders = [run.order for run in runs]
    assert orders == sorted(set(orders))


def test_arms_have_differences_to_the_baseline_and_tuning_arms_have_none(done: Snapshot) -> None:
    runs = projected(done, "", ())
    values = {run.name: {point.key: point.value for point in run.points} for run in of_level(runs, "arm")}
    assert "delta/held_out_loss" not in values["baseline"]
    for name in ("narrow", "dynamic", "dynamic@own"):  # the baseline is best at the shared recipe
        difference = values[name]["final/held_out_loss"] - values["baseline"]["final/held_out_loss"]
        assert values[name]["delta/held_out_loss"] == pytest.approx(difference, abs=1e-4)
    tried = [point.key for run in of_level(runs, "tuning arm") for point in run.points]
    assert not [key for key in tried if key.startswith("delta/")]


def test_no_run_changes_its_row_when_arms_at_own_recipes_are_added(done: Snapshot) -> None:
    assert done.tuning is not None
    own = {arm.name for arm in done.arms if arm.tuned_from is not None}
    before = replace(
        done,
        arms=tuple(arm for arm in done.arms if arm.name not in own),
        histories=tuple(one for one in done.histories if one.trial.arm not in own),
        tuning=replace(done.tuning, choices=()),
    )
    places = {run.identity: run.order for run in projected(done, "", ())}
    assert {run.identity: run.order for run in projected(before, "", ())}.items() <= places.items()


def test_a_tuning_trial_that_failed_is_a_failed_trial_of_the_study(tmp_path: Path) -> None:
    def answer(work: Any) -> Any:
        return Failure("ValueError: no") if work.trial == "narrow@shared/101" else curve(work)

    found = ran(tmp_path, tuned(tmp_path), answer=answer, publishes=False, ledger_path=Path(":memory:"))
    study, *runs = projected(replace(found, labels=("pretrain@2560",)), "", ())
    assert "1 failed" in study.tags["trials"]
    assert next(run for run in runs if run.name == "narrow@shared/101").status is RunStatus.FAILED
