"""Tuning points, choices, and tuned tables in the mirror: the same points for every arm; NaN never wins."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.report import Report, build
from runners.dag import shared_stages, trial_stages
from runners.tracking.mirrored_run import RunStatus
from runners.tracking.runs import projected
from runners.work_queue import Failure
from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.configuration.tuning import Tune, name_of, points_of, value_at
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.ledger.phase_plans import chosen, mean_over_seeds
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.simulated_training import curve
from tests.factories.tuning_runs import RATE, SHARED_RATE, TUNE, best_at, ran, tuned

BASELINE = Candidate()
LISTS: dict[str, Any] = {
    RATE: [1e-4, 5e-4, 1e-3],
    "recipe.weight_decay": [0.0, 0.01, 0.1],
    "recipe.batch_sequences": [64, 256],
    "recipe.schedule": ["linear", "constant"],
}


@st.composite
def tunings(draw: st.DrawFn) -> Tune:
    names = draw(st.lists(st.sampled_from(sorted(LISTS)), min_size=1, max_size=4, unique=True))
    return Tune(vary={name: tuple(LISTS[name]) for name in names}, trials=54, seeds=(101,))


def identity(point: Any) -> str:
    return canonical_text(canonical(apply(BASELINE, point)))


@given(tunings())
@settings(max_examples=12)
def test_the_points_are_all_combinations_once_and_begin_with_the_shared_recipe(tune: Tune) -> None:
    points = points_of(tune, BASELINE)
    assert points[0] == {}
    combinations = {identity(dict(zip(tune.vary, values, strict=True))) for values in product(*tune.vary.values())}
    identities = [identity(point) for point in points]
    assert {*identities} == combinations | {identity({})}
    assert len({*identities}) == len({name_of(point, tune, BASELINE) for point in points}) == len(points)
    for path, value in ((path, value) for point in points for path, value in point.items()):
        assert value in tune.vary[path]
        assert value != value_at(BASELINE, path) or path.startswith("recipe.schedule.")


@pytest.mark.parametrize("trials", [2, 5, 6])
def test_fewer_trials_than_points_are_refused_with_their_number(tmp_path: Path, trials: int) -> None:
    axes = {RATE: [5e-4, 1e-3, 3e-3], "recipe.weight_decay": [0.01, 0.1]}  # the shared recipe is one of the six
    lines = told(tuned(tmp_path, tune={**TUNE, "vary": axes, "trials": trials}))
    below = f"tune.trials: {trials} is below the 6 points that the values of vary make with the shared recipe"
    assert lines == ([] if trials == 6 else [f"{below}; list fewer values, or write trials: 6"])


VALUES = st.one_of(st.none(), st.sampled_from([math.nan, math.inf, -math.inf, 1.0, 1.5, 2.0]))


@given(
    st.lists(st.tuples(VALUES, st.integers(1, 2), st.sampled_from([0.0, 0.5])), min_size=1, max_size=6), st.booleans()
)
def test_points_without_a_value_never_win_and_ties_go_to_the_smaller_change(rows: list[Any], larger: bool) -> None:
    values = [row[0] for row in rows]
    sizes = [(0, 0.0), *((fields, far) for _, fields, far in rows[1:])]
    known = [number for number, value in enumerate(values) if value is not None and math.isfinite(value)]
    point = chosen(values, sizes, larger)
    if not known:
        assert point == 0
        return
    assert point in known
    best = max if larger else min
    tied = [number for number in known if values[number] == best(values[known_one] for known_one in known)]
    assert point in tied
    assert 0 not in tied or point == 0
    assert sizes[point] == min(sizes[number] for number in tied)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=5), st.sampled_from([None, math.nan, math.inf]))
def test_a_seed_without_a_value_leaves_the_point_without_one(found: list[float], lost: float | None) -> None:
    assert mean_over_seeds(found) == pytest.approx(math.fsum(found) / len(found))
    assert mean_over_seeds([*found, lost]) is None
    assert mean_over_seeds([]) is None


def told(table: Any) -> list[str]:
    return [f"{'.'.join(map(str, one.path))}: {one.message}" for one in violations_of(table)]


def test_seeds_of_both_are_refused_with_both_lists(tmp_path: Path) -> None:
    ruled = {"until_decided": {"start": 2, "max": 6, "margin": {"held_out_loss": 0.1}}}
    for seeds, its in (([1, 102], "1, 102"), (ruled, "1, 2, 3, 4, 5, 6")):
        mine = [102, 103] if seeds == [1, 102] else [5, 103]
        table = tuned(tmp_path, tune={**TUNE, "seeds": mine}, pretraining={"tokens": 2560, "seeds": seeds})
        (line,) = told(table)
        both = "102" if mine[0] == 102 else "5"
        expected = f"tuning has seeds {mine[0]}, 103, the comparison {its}. Write [104, 105]"
        assert line == f"tune.seeds: {both} would both select and evaluate a recipe: {expected}"


def test_tuning_changes_the_identity_of_an_experiment_and_not_its_stages(tmp_path: Path) -> None:
    plain, with_tune = tuned(tmp_path, tune=None), tuned(tmp_path)
    assert "tune" not in plain.identity()
    assert {**with_tune.identity(), "tune": None} == {**plain.identity(), "tune": None}
    assert with_tune.identity() != plain.identity()
    for arm, same in zip(plain.arms, with_tune.arms, strict=True):
        keys = [
            {label: stage.key for label, stage in trial_stages(one, shared_stages(one), candidate, 1).items()}
            for one, candidate in ((plain, arm.candidate), (with_tune, same.candidate))
        ]
        assert keys[0] == keys[1]


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
