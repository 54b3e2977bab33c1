"""Seeds until decided: where they go, that order never matters, and that the real course takes and resumes them."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from runners.stages.pretrain import PretrainStage
from runners.work_queue import Failure, StageTask
from steeplechase.analysis.group_sequential import Looks
from steeplechase.configuration.next_seeds import next_seeds
from steeplechase.configuration.pretraining import Pretraining
from steeplechase.configuration.seeds import Seeds, SequentialSeeds
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Status
from tests.factories.simulated_training import Killed, Track, chance_of, curve, experiment, found

LISTED = TypeAdapter[Any](Seeds)


@pytest.mark.parametrize(
    ("written", "meant"),
    [(3, (1, 2, 3)), (1, (1,)), ("1-5", (1, 2, 3, 4, 5)), ("4 - 6", (4, 5, 6)), ([7, 2], (7, 2)), ("0-1", (0, 1))],
)
def test_a_number_of_seeds_and_a_range_mean_what_they_say(written: object, meant: tuple[int, ...]) -> None:
    assert LISTED.validate_json(json.dumps(written)) == meant
    assert Pretraining.model_validate({"tokens": 10, "seeds": written}).seeds == meant


RULE = SequentialSeeds(start=3, max=8, step=2, margin={"held_out_loss": 0.05}, unseen_mode=1.0)
BASELINE = "baseline"


@dataclass
class Arms:
    """Arms whose every seed's loss is known beforehand."""

    losses: dict[str, list[float]]

    def allotted(self, shuffler: random.Random | None = None) -> dict[str, int]:
        """Return how many seeds each arm has at the end, with the values told in an order of its own."""
        run = {arm: {1, 2, 3} for arm in self.losses}
        while True:
            arms = list(run)
            if shuffler is not None:
                shuffler.shuffle(arms)
            values = {arm: {"held_out_loss": self._of(arm, run[arm], shuffler)} for arm in arms}
            added = next_seeds(RULE, values, {arm: run[arm] for arm in arms}, BASELINE)
            if not added:
                return {arm: len(run[arm]) for arm in self.losses}
            assert BASELINE not in added or len(added) > 1
            for arm, seeds in added.items():
                assert not run[arm] & set(seeds)
                run[arm] |= set(seeds)
            assert all(len(run[BASELINE]) >= len(seeds) for seeds in run.values())

    def _of(self, arm: str, seeds: set[int], shuffler: random.Random | None) -> dict[int, float]:
        order = sorted(seeds)
        if shuffler is not None:
            shuffler.shuffle(order)
        return {seed: self.losses[arm][seed - 1] for seed in order}


def arms(seed: int, **effects: float) -> Arms:
    draw = np.random.default_rng(seed)
    losses = {arm: (6 + effect + 0.02 * draw.normal(size=RULE.max)).tolist() for arm, effect in effects.items()}
    return Arms({BASELINE: (6 + 0.02 * draw.normal(size=RULE.max)).tolist(), **losses})


def test_a_clearly_different_arm_stops_and_an_undecided_one_continues() -> None:
    table = arms(1, far=-2.0)
    table.losses["straddling"] = [6.0 + 0.3 * (-1) ** seed for seed in range(RULE.max)]
    assert table.allotted() == {BASELINE: 8, "far": 3, "straddling": 8}


def test_equal_arms_stop_once_they_are_known_to_lie_within_the_margin() -> None:
    ends = [arms(seed, same=0.0).allotted()["same"] for seed in range(60)]
    assert set(ends) > {8}
    assert min(ends) < 8


@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_the_order_in_which_results_arrive_changes_nothing(seed: int, shuffler: random.Random) -> None:
    table = arms(seed, a=0.0, b=-0.05, c=0.04)
    assert table.allotted(shuffler) == table.allotted()


def test_a_seed_that_diverged_counts_as_run_and_tells_nothing() -> None:
    values = {arm: {"held_out_loss": {1: 6.0, 2: 6.1}} for arm in (BASELINE, "a")}
    assert next_seeds(RULE, values, {BASELINE: {1, 2, 3}, "a": {1, 2, 3}}, BASELINE) == {
        BASELINE: (4, 5),
        "a": (4, 5),
    }


LOSSES = {1: 6.0, 2: 6.1, 3: 6.2}


@pytest.mark.parametrize(
    ("of_baseline", "of_arm", "stops"),
    [
        ({}, {"held_out_loss": LOSSES}, True),
        ({}, {}, True),  # all arms diverged
        ({"held_out_loss": LOSSES}, {"held_out_loss": LOSSES, "task": LOSSES}, True),  # in fine-tuning
        ({"held_out_loss": {2: 6.1}, "task": {2: 6.1}}, {"held_out_loss": LOSSES, "task": LOSSES}, False),
        ({"held_out_loss": LOSSES}, {"held_out_loss": LOSSES}, False),  # the task has no score yet
        ({"held_out_loss": LOSSES, "task": LOSSES}, {}, True),  # the arm diverged in every seed
        ({"held_out_loss": LOSSES, "task": LOSSES}, {"held_out_loss": {2: 6.1}}, False),
    ],
)
def test_nothing_is_added_where_the_baseline_or_the_arm_diverged_in_every_seed(
    of_baseline: dict[str, dict[int, float]], of_arm: dict[str, dict[int, float]], stops: bool
) -> None:
    rule = SequentialSeeds(start=3, max=9, margin={"held_out_loss": 0.01, "task": 0.01})
    run = {BASELINE: {1, 2, 3}, "a": {1, 2, 3}}
    assert (next_seeds(rule, {BASELINE: of_baseline, "a": of_arm}, run, BASELINE) == {}) is stops


def test_an_arm_that_diverged_in_every_seed_gets_none_beside_one_that_is_open() -> None:
    values = {arm: {"held_out_loss": {1: 6.0, 2: 6.1, 3: 6.3}} for arm in (BASELINE, "a")} | {"b": {}}
    run = {arm: {1, 2, 3} for arm in values}
    assert next_seeds(RULE, values, run, BASELINE) == {BASELINE: (4, 5), "a": (4, 5)}


def test_the_shares_of_the_looks_make_a_whole() -> None:
    for start, last, step in ((3, 10, 2), (2, 3, 1), (3, 30, 5), (3, 4, 2)):
        looks = SequentialSeeds(start=start, max=last, step=step, margin={"held_out_loss": 1.0}).looks
        assert sum(map(looks.share, looks.counts)) == pytest.approx(1)
    assert Looks(()).share(3) == 1


def test_a_rule_that_adds_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be above start"):
        SequentialSeeds(start=5, max=5, margin={"held_out_loss": 1.0})


RULED = {"start": 2, "max": 6, "step": 2, "margin": {"held_out_loss": 0.001}, "unseen_mode": 1.0}
SEQUENTIAL = {"tokens": 2560, "seeds": {"until_decided": RULED}}


def noisy(work: StageTask) -> Outcome | Failure:
    """Return losses in which `narrow` is far off and `dynamic` is noise."""
    declaration = work.stage.declaration
    if not isinstance(declaration, PretrainStage):
        return curve(work)
    text = canonical_text(canonical(declaration.candidate))
    loss = 6 + 0.01 * chance_of(text, declaration.seed) - 100 * ("bottleneck_ratio" in text)
    return Outcome(Status.FINISHED, {"tokens": 2560, "held_out_loss": loss}, 1.0)


def test_a_later_arm_continues_to_its_own_next_look() -> None:
    spent = [6.0 + 0.3 * (-1) ** seed for seed in range(1, 9)]
    values = {arm: {"held_out_loss": dict(enumerate(spent, 1))} for arm in (BASELINE, "early")}
    values["early"]["held_out_loss"] = {seed: 12.1 - value for seed, value in enumerate(spent, 1)}
    values["late"] = {"held_out_loss": {seed: 12.0 - spent[seed - 1] for seed in (1, 2, 3)}}
    run = {BASELINE: set(range(1, 9)), "early": set(range(1, 9)), "late": {1, 2, 3}}
    assert next_seeds(RULE, values, run, BASELINE) == {"late": (4, 5)}


@pytest.mark.parametrize(("metric", "margin", "seeds"), [("score", 1e6, 3), ("docs_acceptability:accuracy", 1e-9, 6)])
def test_the_course_adds_seeds_for_a_task(tmp_path: Path, metric: str, margin: float, seeds: int) -> None:
    ruled = {"until_decided": {"start": 3, "max": 6, "step": 2, "margin": {metric: margin}, "unseen_mode": 1.0}}
    tuning = {"tasks": ("docs_acceptability",)}
    table = experiment(tmp_path, pretraining={"tokens": 2560, "seeds": ruled}, fine_tuning=tuning)
    whole = Track(table, tmp_path, noisy).run()
    assert {len(whole.of_arm(arm.name)) for arm in whole.arms} == {seeds}


def test_the_course_adds_seeds_and_a_kill_changes_nothing(tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    table = experiment(tmp_path, pretraining=SEQUENTIAL, fine_tuning={})
    whole = Track(table, tmp_path / "whole", noisy).run()
    counts = {arm.name: len(whole.of_arm(arm.name)) for arm in whole.arms}
    assert counts == {BASELINE: 6, "narrow": 2, "dynamic": 6}
    again = None
    for left in range(1, 30):
        try:
            again = Track(table, tmp_path / "killed", noisy, order=random.Random(left), left=1).run()
        except Killed:
            continue
        break
    assert again is not None
    assert found(again) == found(whole)
