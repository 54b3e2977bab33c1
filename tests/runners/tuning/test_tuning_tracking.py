"""Tuned tables: planted advantages, and their mirror."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.report import Report, build
from runners.tracking.mirrored_run import RunStatus
from runners.tracking.runs import projected
from runners.work_queue import Failure
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.simulated_training import curve
from tests.factories.tuning_runs import SHARED_RATE, best_at, ran, tuned


@pytest.fixture
def done(tmp_path: Path) -> Snapshot:
    answer = best_at({'"dynamic"': 3e-3, "": 5e-4})
    found = ran(tmp_path, tuned(tmp_path), answer=answer, publishes=False, ledger_path=Path(":memory:"))
    return replace(found, labels=("pretrain@2560",))


def of_level(runs: Any, level: str) -> list[Any]:
    return [run for run in runs if run.tags["level"] == level]


def test_every_trial_is_mirrored_once_under_its_arm(done: Snapshot) -> None:
    runs = projected(done, ())
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
    runs = projected(done, ())
    values = {run.name: {point.key: point.value for point in run.points} for run in of_level(runs, "arm")}
    assert "delta/held_out_loss" not in values["baseline"]
    for name in ("narrow", "dynamic", "dynamic@own"):  # the baseline is best at the shared recipe
        difference = values[name]["final/held_out_loss"] - values["baseline"]["final/held_out_loss"]
        assert values[name]["delta/held_out_loss"] == pytest.approx(difference, abs=1e-4)
    tried = [point.key for run in of_level(runs, "tuning arm") for point in run.points]
    assert not [key for key in tried if key.startswith("delta/")]


def test_a_tuning_trial_that_failed_is_a_failed_trial_of_the_study(tmp_path: Path) -> None:
    def answer(work: Any) -> Any:
        return Failure("ValueError: no") if work.trial == "narrow@shared/101" else curve(work)

    found = ran(tmp_path, tuned(tmp_path), answer=answer, publishes=False, ledger_path=Path(":memory:"))
    study, *runs = projected(replace(found, labels=("pretrain@2560",)), ())
    assert "1 failed" in study.tags["trials"]
    assert next(run for run in runs if run.name == "narrow@shared/101").status is RunStatus.FAILED


NARROW = '"bottleneck_ratio":2'


def reported(folder: Path, rates: dict[str, float]) -> tuple[Report, dict[str, Any]]:
    """Return the report of a tuned table through the real course, and its rows of both differences by arm."""
    table = tuned(folder, pretraining={"tokens": 2560, "seeds": [1, 2, 3, 4, 5]})
    found = ran(folder, table, answer=best_at(rates, 0.02), publishes=False, ledger_path=Path(":memory:"))
    report = build(replace(found, document=table.model_dump(mode="json"), labels=("pretrain@2560",)))
    (rows,) = (one.rows for one in report.tables if one.name == "tuned")
    return report, {str(row["arm"]): row for row in rows}


def test_the_arm_is_better_at_the_shared_recipe_only(tmp_path: Path) -> None:
    report, rows = reported(tmp_path, {NARROW: SHARED_RATE, "": 3e-3})
    narrow = rows["narrow"]
    assert (narrow["shared_verdict"], narrow["own_verdict"]) == ("helps", "undecided")
    assert narrow["shared_delta"] == pytest.approx(-3.2, abs=0.05)  # -log(3e-3 / 5e-4)^2
    assert narrow["own_low"] < 0 < narrow["own_high"]
    assert (narrow["recipe"], rows["dynamic"]["recipe"]) == ("shared", "peak_learning_rate=0.003")
    shared, _, own = report.finding.partition(" With every arm at its own recipe: ")
    assert "narrow has the best mean and is significantly better than the baseline" in shared
    assert "differ significantly" in own


def test_where_the_shared_rate_suits_all_arms_tuning_changes_nothing(tmp_path: Path) -> None:
    report, rows = reported(tmp_path, {"": SHARED_RATE})
    parts = ("n", "delta", "low", "high", "p", "p_adjusted", "verdict")
    assert rows
    for row in rows.values():
        assert [row[f"own_{part}"] for part in parts] == [row[f"shared_{part}"] for part in parts]
    assert report.finding.endswith("For every arm tuning selected the shared recipe.")
