"""Samplers learn from the declared objectives alone, of finished and of stopped candidates."""

from functools import cache
from statistics import fmean
from typing import Any

import pytest

from runners.search.observations import Observation
from runners.search.optuna_sampler import importance, propose
from runners.search.study_values import expected_values, values_at_rungs
from search_space.candidate import Candidate
from steeplechase.configuration.designs import Search

BASELINE = Candidate()
DROPOUTS = tuple(number / 40 for number in range(16))
DECAYS = tuple(number / 100 for number in range(16))
SPACE: dict[str, Any] = {
    "recipe.dropout": DROPOUTS,
    "recipe.weight_decay": DECAYS,
    "feed_forward_groups": (1, 2, 4),  # moves nothing
}
OBJECTIVES = (("held_out_loss",), ("score",), ("held_out_loss", "parameters"), ("score", "parameters"))
TOLD, SEEDS, UNIFORM = 10, (0, 1, 2), 0.5


def search(sampler: str, objectives: tuple[str, ...], seed: int) -> Search:
    known = {"space": SPACE, "sampler": sampler, "seed": seed, "cohort": 4}
    return Search.model_validate({**known, "objectives": objectives, "max_candidates": 99, "max_seeds": 9})


BARS = {"no hurdle": (0.0, False), "probe": (0.5, True), "loss": (0.5, False)}
"""The bar of a hurdle on its axis, and whether it is a probe's score."""
CASES = [("tpe", objectives, bar) for objectives in OBJECTIVES for bar in BARS]
CASES += [(sampler, ("score", "parameters"), "probe") for sampler in ("gp", "nsga2")]


def observed(point: dict[str, Any], objectives: tuple[str, ...], finishes: bool, probed: bool) -> Observation:
    """Return a candidate whose dropout moves the score alone, and whose weight decay moves the loss alone."""
    quality = {"score": position(point, "recipe.dropout"), "held_out_loss": position(point, "recipe.weight_decay")}
    measured = {"score": 50 + 20 * quality["score"], "held_out_loss": 4 - quality["held_out_loss"]}
    at_end = tuple(measured.get(name, 1000.0) if finishes or name not in measured else None for name in objectives)
    losses = (measured["held_out_loss"] + 2, *((measured["held_out_loss"],) if finishes else ()))
    scores = (measured["score"] - 10,) if probed else ()
    return Observation(point, losses, finishes, at_end, seeds=1, scores=scores)


def position(point: dict[str, Any], axis: str) -> float:
    """Return the place of a value on its axis from 0 to 1; 1 is the best."""
    return float(SPACE[axis].index(point.get(axis, SPACE[axis][0])) / 15)


@cache
def uniform_points(seed: int, count: int) -> list[dict[str, Any]]:
    """Return points that are drawn uniformly."""
    return propose(search("random", ("held_out_loss",), seed), BASELINE, (), 0, count)


def history(design: Search, bar: float, probed: bool, count: int = TOLD) -> tuple[Observation, ...]:
    """Return the baseline and uniform candidates; those below `bar` in the hurdle's value were stopped."""
    points = uniform_points(design.seed, count)
    compared = "recipe.dropout" if probed else "recipe.weight_decay"
    seen = (observed(point, design.objectives, position(point, compared) >= bar, probed) for point in points)
    return (observed({}, design.objectives, True, probed), *seen)


@pytest.mark.parametrize(("sampler", "objectives", "hurdle"), CASES)
def test_an_axis_that_moves_the_first_objective_alone_is_found(
    sampler: str, objectives: tuple[str, ...], hurdle: str
) -> None:
    bar, probed = BARS[hurdle]
    moved = "recipe.dropout" if objectives[0] == "score" else "recipe.weight_decay"
    slow = sampler == "gp"  # a proposal takes half a second
    count, above, found = 4 if slow else 10, 0.3 if slow else 0.1, list[float]()
    for seed in SEEDS[: 2 if slow else 3]:
        design = search(sampler, objectives, seed)
        proposed = propose(design, BASELINE, history(design, bar, probed), 7, count)
        found += [position(point, moved) for point in proposed]
    assert fmean(found) > UNIFORM + above, found


@pytest.mark.parametrize(
    ("sampler", "objectives"),
    [("tpe", ("score",)), ("tpe", ("held_out_loss", "parameters")), ("gp", ("score",)), ("nsga2", ("score",))],
)
def test_of_stopped_candidates_alone_the_better_half_is_proposed(sampler: str, objectives: tuple[str, ...]) -> None:
    moved = "recipe.dropout" if objectives[0] == "score" else "recipe.weight_decay"
    design = search(sampler, objectives, 1)
    points: list[dict[str, Any]] = [{moved: value} for value in SPACE[moved][1:]]
    stopped = tuple(observed(point, objectives, False, probed=True) for point in points)
    proposed = propose(design, BASELINE, stopped, 5, 4 if sampler == "gp" else 10)
    assert fmean(position(point, moved) for point in proposed) > UNIFORM + 0.1


def test_a_loss_that_stands_in_for_a_score_has_the_direction_of_the_study() -> None:
    better, worse = Observation({}, (3.0,), False), Observation({}, (5.0,), False)
    assert values_at_rungs("score", better)[-1] > values_at_rungs("score", worse)[-1]
    assert values_at_rungs("held_out_loss", better)[-1] < values_at_rungs("held_out_loss", worse)[-1]


def test_a_diverged_candidate_is_worse_than_every_other() -> None:
    diverged = Observation({}, (1.0,), False, scores=(99.0,), diverged=True)
    finished = Observation({}, (5.0, 4.0), True, (40.0,))
    assert expected_values(("score",), diverged, None, [finished]) == (40.0,)
    assert expected_values(("score",), diverged, None, []) is None


@pytest.mark.parametrize("objectives", [("held_out_loss",), ("score", "parameters"), ("score", "seconds")])
def test_values_that_diverge_before_the_first_rung_are_avoided(objectives: tuple[str, ...]) -> None:
    found = []
    for seed in SEEDS:
        design = search("tpe", objectives, seed)
        seen = history(design, 0.0, probed=True, count=16)
        told = [
            each if position(each.changes, "recipe.dropout") >= 0.5 or not each.changes else lost(each)
            for each in seen
        ]
        found += [position(point, "recipe.dropout") for point in propose(design, BASELINE, tuple(told), 7, 10)]
    assert fmean(found) > UNIFORM + 0.1, found


def lost(seen: Observation) -> Observation:
    """Return a candidate of which nothing was measured before it diverged, costs that are known before excepted."""
    costs = tuple(value if value == 1000.0 else None for value in seen.objectives[1:])
    return Observation(seen.changes, (), False, (None, *costs) if costs else (), diverged=True)


def test_a_stopped_candidate_is_expected_at_its_difference_from_the_baseline() -> None:
    objectives = ("score", "parameters")
    baseline = Observation({}, (4.0, 3.0), True, (70.0, 500.0), scores=(50.0,))
    stopped = Observation({"recipe.dropout": 0.1}, (5.0,), False, (None, 300.0), scores=(45.0,))
    assert expected_values(objectives, stopped, baseline, [baseline]) == (65.0, 300.0)


@pytest.mark.parametrize("sampler", ["random", "tpe", "gp"])
@pytest.mark.parametrize("objective", ["score", "held_out_loss"])
def test_importance_is_that_of_the_first_objective(objective: str, sampler: str) -> None:
    moved = "recipe.dropout" if objective == "score" else "recipe.weight_decay"
    for seed in range(5):
        design = search(sampler, (objective,), seed)
        shares = importance(design, BASELINE, history(design, 0.5, probed=True, count=24))
        assert max(shares, key=lambda path: shares[path]) == moved, shares
