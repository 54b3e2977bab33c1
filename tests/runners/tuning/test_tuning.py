"""Tuning points and choices: the same points for every arm, separate seeds; NaN never wins."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configuration.tuning import Tune
from configuration.tuning_points import change_size, grid_points, name_of, point_count, points_of, value_at
from configuration.validation.experiment import violations_of
from foundation.schema import canonical, canonical_text
from ledger.tuning_selection import Choice, chosen, mean_over_seeds
from runners.dag import shared_stages, trial_stages
from runners.search.optuna_sampler import draws
from search_space.candidate import Candidate
from search_space.overrides import apply
from tests.factories.simulated_training import search
from tests.factories.tuning_runs import RATE, TUNE, tuned

BASELINE = Candidate()
RANGES: dict[str, Any] = {
    RATE: {"log": [1e-4, 1e-2]},
    "recipe.dropout": {"linear": [0.0, 0.4]},
    "recipe.schedule.warmup_tokens": {"log": [1000, 1e6]},
}
LISTS: dict[str, Any] = {
    RATE: [1e-4, 5e-4, 1e-3],
    "recipe.weight_decay": [0.0, 0.01, 0.1],
    "recipe.batch_sequences": [64, 256],
    "recipe.schedule": ["linear", "constant"],
}


@st.composite
def tunings(draw: st.DrawFn) -> Tune:
    axes = {**LISTS, **{path: draw(st.sampled_from([axis, LISTS.get(path, axis)])) for path, axis in RANGES.items()}}
    names = draw(st.lists(st.sampled_from(sorted(axes)), min_size=1, max_size=4, unique=True))
    document = {
        "vary": {name: axes[name] for name in names},
        "trials": draw(st.integers(2, 8)),
        "seeds": [101],
        "sampler": draw(st.sampled_from(["qmc", "random"])),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }
    return Tune.model_validate_json(json.dumps(document))


def identity(point: Any) -> str:
    return canonical_text(canonical(apply(BASELINE, point)))


@settings(max_examples=40)
@given(tunings())
def test_points_are_distinct_lie_within_their_axes_and_begin_with_the_shared_recipe(tune: Tune) -> None:
    points = points_of(tune, BASELINE, lambda _: True, draws)
    assert points[0] == {}
    assert len(points) == point_count(tune, BASELINE) <= tune.trials
    assert len({identity(point) for point in points}) == len({name_of(point, tune, BASELINE) for point in points})
    assert len({identity(point) for point in points}) == len(points)
    for path, value in ((path, value) for point in points for path, value in point.items()):
        axis = tune.vary[path]
        assert value in axis if isinstance(axis, tuple) else axis.ends[0] <= value <= axis.ends[1]  # type: ignore[operator]
        assert value != value_at(BASELINE, path) or path.startswith("recipe.schedule.")


@settings(max_examples=25)
@given(tunings())
def test_the_points_depend_on_one_seed_and_nothing_else(tune: Tune) -> None:
    assert points_of(tune, BASELINE, lambda _: True, draws) == points_of(tune, BASELINE, lambda _: True, draws)
    other = tune.model_copy(update={"seed": tune.seed ^ 1})
    drawn = [points_of(one, BASELINE, lambda _: True, draws) for one in (tune, other)]
    whole, numbers = grid_points(tune, BASELINE), set(tune.vary) & {RATE, "recipe.dropout"} & set(tune.ranges)
    assert whole is None or drawn[0] == drawn[1] == whole
    assert not numbers or drawn[0] != drawn[1]


def test_the_full_grid_is_used_if_it_fits_and_never_more_points_than_trials() -> None:
    axes = {RATE: [1e-4, 5e-4, 1e-3], "recipe.weight_decay": [0.01, 0.1]}
    for trials in range(2, 9):
        tune = Tune.model_validate_json(json.dumps({"vary": axes, "trials": trials, "seeds": [101]}))
        whole = grid_points(tune, BASELINE)
        assert (whole is not None) is (trials >= 6)  # the shared recipe is one of the six
        assert len(points_of(tune, BASELINE, lambda _: True, draws)) == min(trials, 6)


def test_a_point_that_is_invalid_for_some_arm_is_redrawn() -> None:
    tune = Tune.model_validate_json(json.dumps({"vary": {RATE: RANGES[RATE]}, "trials": 6, "seeds": [101]}))
    points = points_of(tune, BASELINE, lambda point: float(str(point[RATE])) < 1e-3, draws)
    assert len(points) == 6
    assert all(float(str(point[RATE])) < 1e-3 for point in points[1:])


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


def test_a_change_is_larger_with_every_field_then_by_its_ratio() -> None:
    sizes = [
        change_size(point, BASELINE)
        for point in ({}, {RATE: 6e-4}, {RATE: 5e-3}, {RATE: 6e-4, "recipe.weight_decay": 0.1})
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] == (0, 0)


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=4))
def test_a_choice_round_trips(values: list[float | None]) -> None:
    choice = Choice("narrow", 0, tuple(values), "narrow")
    assert Choice.of(json.loads(canonical_text(choice.as_json))) == choice


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


def test_a_search_is_not_tuned(tmp_path: Path) -> None:
    (line,) = told(search(tmp_path, tune=TUNE))
    assert line.startswith(
        "tune: tuning needs declared arms; a search proposes its own. Did you mean axes of the recipe"
    )


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
