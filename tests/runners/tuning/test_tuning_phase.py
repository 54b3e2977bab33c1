"""The tuning phase of a run: the same points for every arm, and choices written before they take effect."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runners.stages.pretrain import PretrainStage
from runners.work_queue import Failure, StageTask
from search_space.overrides import difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.phase_plans import CHOICES
from steeplechase.ledger.records import Status
from steeplechase.ledger.stage_results import FineTuneResult
from tests.factories.crashing_ledger import CrashingLedger
from tests.factories.grown_studies import Study
from tests.factories.simulated_training import SMALL, TOKENS_PER_STEP, Killed, Track, chance_of, curve, folder_of
from tests.factories.tuning_runs import RATE, SHARED_RATE, TUNE, best_at, came_to, own_names, ran, tuned

DYNAMIC = '"dynamic"'
IN_MEMORY: dict[str, Any] = {"publishes": False, "ledger_path": Path(":memory:")}
SMALLEST: dict[str, Any] = {
    "design": {"kind": "list", "arms": {"dynamic": {"convolution": {"kind": "dynamic"}}}},
    "tune": {**TUNE, "vary": {RATE: [3e-3]}, "seeds": [101]},
}
"""Two arms at two points on one seed; `dynamic` leaves the shared recipe."""
LEAVES = best_at({DYNAMIC: 3e-3, "": SHARED_RATE})
GRID = {**TUNE, "vary": {RATE: [4e-4, 7e-4], "recipe.weight_decay": [0.01, 0.1]}, "trials": 5}


@pytest.mark.parametrize("tune", [TUNE, GRID])
def test_every_arm_is_tuned_at_the_same_points_with_the_seeds_and_budget_of_tuning(tmp_path: Path, tune: Any) -> None:
    table = tuned(tmp_path, tune=tune)
    done = ran(tmp_path, table)
    assert done.tuning is not None
    tried: dict[str, list[dict[str, Any]]] = {}
    for row in done.tuning.arms:
        arm = next(one for one in table.arms if one.name == row.tuning_trial_of)
        tried.setdefault(arm.name, []).append(difference(arm.candidate, row.candidate))
    assert list(tried) == [arm.name for arm in table.arms]
    assert all(points == tried[BASELINE] for points in tried.values())
    assert tried[BASELINE][0] == {}
    assert len(tried[BASELINE]) == tune["trials"]
    assert {one.trial.seed for one in done.tuning.histories} == {101, 102}
    assert {one.trial.seed for one in done.histories} == {1}
    assert {record.label for one in done.tuning.histories for record in one.records} == {"pretrain@1280"}
    assert {record.label for one in done.histories for record in one.records} == {"pretrain@2560"}


def test_an_arm_enters_at_its_own_recipe_unless_it_is_the_shared_one(tmp_path: Path) -> None:
    table = tuned(tmp_path, fine_tuning=SMALL)
    track = Track(table, tmp_path, best_at({DYNAMIC: 3e-3, "": SHARED_RATE}))
    done = track.run()
    assert own_names(done) == {"baseline": "baseline", "narrow": "narrow", "dynamic": "dynamic@own"}
    assert [arm.name for arm in done.arms] == ["baseline", "narrow", "dynamic", "dynamic@own"]
    raw, own = done.arms[-2:]
    assert own.tuned_from == "dynamic"
    assert difference(raw.candidate, own.candidate) == {RATE: 3e-3}
    assert own.changes == {**raw.changes, RATE: 3e-3}
    assert [record.label for record in done.of_arm("dynamic@own")[0].records] == ["pretrain@2560", "docs_pair#1"]
    assert len(track.computed) == len(set(track.computed))
    assert done.over
    assert done.failed == ()


def test_another_arm_is_refused_since_tuning_selects_from_all(tmp_path: Path) -> None:
    here = Study(tmp_path)
    here.run(tuned(tmp_path, **SMALLEST))
    with pytest.raises(ConflictError) as refused:
        here.run(tuned(tmp_path, tune=SMALLEST["tune"]))
    assert refused.value.lines[-1].endswith(
        "; nothing else may differ, since tuning selects recipes from all results"
    )


def test_the_choice_does_not_depend_on_workers_or_the_order_of_results(tmp_path: Path) -> None:
    table = tuned(tmp_path)
    seen = {
        came_to(ran(folder_of(tmp_path, str(seed)), table, seed, workers=1 + 2 * seed, **IN_MEMORY))
        for seed in range(3)
    }
    assert len(seen) == 1


def test_a_choice_is_written_before_the_rows_that_depend_on_it(tmp_path: Path) -> None:
    table = tuned(tmp_path, **SMALLEST)
    expected = came_to(Track(table, folder_of(tmp_path, "whole"), LEAVES).run())
    rows, killed, undecided = 4, True, 0
    while killed:
        rows += 1
        folder, killed = folder_of(tmp_path, f"before {rows}"), False
        try:
            Track(table, folder, LEAVES, ledger_type=lambda path, rows=rows: CrashingLedger(path, rows)).run()
        except Killed:
            killed = True
        with closing(Ledger(folder / "ledger.sqlite")) as ledger:
            acted = any(arm.tuned_from for arm in ledger.arms())
            undecided += ledger.fact(CHOICES) is None
            assert not acted or ledger.fact(CHOICES) is not None
        assert came_to(Track(table, folder, LEAVES).run()) == expected, rows
    assert rows > undecided > 15


def test_a_failed_tuning_trial_is_retried_before_any_choice(tmp_path: Path) -> None:
    table = tuned(tmp_path)
    expected = came_to(ran(folder_of(tmp_path, "calm"), table))

    def failing(work: StageTask) -> Outcome | Failure:
        return Failure("ValueError: no", "Traceback") if work.trial == "narrow@shared/102" else curve(work)

    folder = folder_of(tmp_path, "failed")
    first = ran(folder, table, answer=failing)
    assert first.tuning is not None
    assert first.tuning.choices == ()
    assert [one.trial.name for one in first.failed] == ["narrow@shared/102"]
    assert all(arm.tuned_from is None for arm in first.arms)
    assert came_to(ran(folder, table)) == expected


def test_a_point_without_finite_values_at_every_seed_never_wins(tmp_path: Path) -> None:
    usual = best_at({"": 3e-3})  # the best point of all arms, except for one seed of one arm

    def answer(work: StageTask) -> Outcome | Failure:
        end = usual(work)
        if work.trial != "narrow@peak_learning_rate=0.003/102" or isinstance(end, Failure):
            return end
        return Outcome(Status.DIVERGED, {"tokens": 64, "loss": "nan"}, 1.0)

    done = ran(tmp_path, tuned(tmp_path), answer=answer)
    assert done.tuning is not None
    points = {choice.arm: done.tuning.tried.names[choice.point] for choice in done.tuning.choices}
    assert points == {
        "baseline": "peak_learning_rate=0.003",
        "narrow": "peak_learning_rate=0.001",
        "dynamic": "peak_learning_rate=0.003",
    }
    narrow = next(choice for choice in done.tuning.choices if choice.arm == "narrow")
    assert narrow.values[2] is None


def test_tuning_by_score_fine_tunes_and_selects_the_largest(tmp_path: Path) -> None:
    table = tuned(tmp_path, fine_tuning=SMALL, tune={**TUNE, "metric": "score", "seeds": [101]})
    done = ran(tmp_path, table)
    assert done.tuning is not None
    scores: dict[str, list[float]] = {}
    for one in done.tuning.histories:
        (record,) = one.finished("fine_tune")
        assert isinstance(record.result, FineTuneResult)
        found = record.result.scores
        row = next(arm for arm in done.tuning.arms if arm.name == one.trial.arm)
        scores.setdefault(str(row.tuning_trial_of), []).append(float(str(found["accuracy"])))
    for choice in done.tuning.choices:
        assert list(choice.values) == scores[choice.arm]
        assert choice.values[choice.point] == max(scores[choice.arm])


RULED = {"start": 2, "max": 6, "step": 2, "margin": {"held_out_loss": 0.001}, "unseen_mode": 1.0}


def test_sequential_seeds_are_added_for_undecided_comparisons_at_either_recipe(tmp_path: Path) -> None:
    """`dynamic` is far off at the shared recipe alone, `narrow` at both."""
    table = tuned(tmp_path, pretraining={"tokens": 2560, "seeds": {"until_decided": RULED}})

    def answer(work: StageTask) -> Outcome | Failure:
        told = work.stage.declaration
        if not isinstance(told, PretrainStage):
            return curve(work)
        text, rate = told.candidate.architecture.model_dump_json(), told.candidate.recipe.peak_learning_rate
        best = 3e-3 if DYNAMIC in text else SHARED_RATE
        far = 100.0 * (rate != best) + 200.0 * ('"bottleneck_ratio":2' in text)
        tokens = told.to_step * TOKENS_PER_STEP
        loss = 6 + far + 0.01 * chance_of(text, told.seed)
        return Outcome(Status.FINISHED, {"tokens": tokens, "held_out_loss": loss}, 1.0)

    whole = ran(folder_of(tmp_path, "whole"), table, answer=answer)
    counts = {arm.name: len(whole.of_arm(arm.name)) for arm in whole.arms}
    assert counts == {"baseline": 6, "narrow": 2, "dynamic": 2, "dynamic@own": 6}
    folder, again = folder_of(tmp_path, "killed"), None
    for left in range(1, 60):
        try:
            again = ran(folder, table, left, answer=answer, left=1)
        except Killed:
            continue
        break
    assert again is not None
    assert came_to(again) == came_to(whole)


def test_tuning_reuses_stored_stages(tmp_path: Path) -> None:
    """A tuning trial at the full budget has the stages of a table's trial at that seed."""
    other = tuned(tmp_path, tune=None, pretraining={"tokens": 2560, "seeds": [101]})
    first = Track(other, tmp_path)
    first.run()
    whole = {name: value for name, value in TUNE.items() if name != "tokens"}
    second = Track(tuned(tmp_path, tune=whole), tmp_path, ledger_path=tmp_path / "other.sqlite")
    done = second.run()
    assert done.tuning is not None
    reused = [one.trial.name for one in done.tuning.histories if all(record.reused for record in one.records)]
    assert reused == ["baseline@shared/101", "narrow@shared/101", "dynamic@shared/101"]
    assert not set(first.computed) & set(second.computed)
