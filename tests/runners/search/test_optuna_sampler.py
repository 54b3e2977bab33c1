"""Proposals of a search: distinct points of its space, deterministic in the seed."""

import random
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from runners.search import encoding
from runners.search.encoding import KnownCandidates
from runners.search.observations import Observation
from runners.search.optuna_sampler import importance, propose
from search_space.candidate import Candidate
from search_space.convolution.kernel import WithKernel
from search_space.overrides import apply
from steeplechase.configuration.designs import Search
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import SEARCH, SPACE, Track, found

BASELINE = Candidate()
SAMPLERS = ("random", "tpe", "gp", "nsga2", "brute_force")
HALF = {"random_share": 0.5}
KERNELS: tuple[Any, ...] = tuple(SPACE["convolution.kernel_size"])


def search(sampler: str, seed: int = 0, **more: Any) -> Search:
    space = {axis: tuple(values) for axis, values in SPACE.items()}
    known = {"space": space, "sampler": sampler, "seed": seed, "cohort": 4, "max_seeds": 1}
    return Search.model_validate({**known, **more})


def seen(points: tuple[dict[str, Any], ...]) -> tuple[Observation, ...]:
    """Return results of every kind: complete, stopped, and without any number."""
    losses = [((6.0, 5.0, 4.0), True), ((7.0,), False), ((), False)]
    return tuple(Observation(point, *losses[number % 3]) for number, point in enumerate(points))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_cohorts_are_distinct_points_of_the_space_and_deterministic_in_the_seed(sampler: str) -> None:
    design, known = search(sampler, 2**32 - 1), ()
    for cohort in (1, 2):
        points = propose(design, BASELINE, known, cohort, 4)
        assert cohort == 1 or points == propose(design, BASELINE, known, cohort, 4)
        known += seen(points)
    candidates = [apply(BASELINE, dict(one.changes)) for one in known]
    assert len({candidate.model_dump_json() for candidate in [*candidates, BASELINE]}) == 9
    for one, candidate in zip(known, candidates, strict=True):
        assert all(value in SPACE[axis] for axis, value in one.changes.items())
        has_kernel = isinstance(candidate.architecture.convolution, WithKernel)
        assert has_kernel == ("convolution.kernel_size" in one.changes)


def test_every_second_proposal_is_drawn_uniformly_with_a_random_share_of_a_half() -> None:
    known = tuple(Observation({"bottleneck_ratio": 4}, (5.0 + ratio,) * 3, True) for ratio in range(8))
    plain, half = (propose(search("tpe", max_seeds=99, **share), BASELINE, known, 2, 9) for share in ({}, HALF))
    assert half[0] == plain[0]
    assert half[1] != plain[1]
    assert half == propose(search("tpe", max_seeds=99, **HALF), BASELINE, known, 2, 9)


@pytest.mark.parametrize("sampler", ["random", "tpe", "gp"])
def test_axes_that_the_baseline_leaves_to_the_experiment_are_drawn(sampler: str) -> None:
    space = {"data": ("news", "books"), "fine_tuning.epochs": (3, 6), "key_width": (16, 32)}
    design, known = search(sampler, space=space), ()
    for cohort in (1, 2):
        known += seen(propose(design, BASELINE, known, cohort, 3))
    assert {path: {one.changes[path] for one in known} for path in space} == {path: {*space[path]} for path in space}


@pytest.mark.parametrize("sampler", ["random", "tpe", "gp"])
def test_points_that_break_a_rule_are_never_proposed(sampler: str) -> None:
    space = {"heads": (2, 4, 8), "bottleneck_ratio": (1, 2, 4, 8)}
    design = search(sampler, space=space)
    points = propose(design, BASELINE, (), 1, 8)  # all that are possible
    possible = [(heads, ratio) for heads, ratio in product(*space.values()) if heads % ratio == 0]
    assert sorted((point["heads"], point["bottleneck_ratio"]) for point in points) == sorted(
        pair for pair in possible if pair != (4, 1)
    )


def test_an_option_that_is_invalid_with_the_recipe_is_never_proposed() -> None:
    options = ({"kind": "none"}, {"kind": "dynamic", "kernel_size": 301})
    design = search("random", space={"convolution": options, "bottleneck_ratio": (1, 2)})
    points = propose(design, BASELINE, (), 1, 9)
    assert [point["convolution"]["kind"] for point in points] == ["none"]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_option_that_fits_only_another_value_of_an_axis_is_proposed_with_it(sampler: str) -> None:
    options = ({"kind": "none"}, {"kind": "dynamic", "kernel_size": 301})
    design = search(sampler, space={"convolution": options, "recipe.sequence_length": (128, 256)})
    points = propose(design, BASELINE, (), 1, 2)
    assert {(point["convolution"]["kind"], point["recipe.sequence_length"]) for point in points} == {
        ("none", 256),
        ("dynamic", 256),
    }


def test_brute_force_finds_the_few_possible_points_of_a_space() -> None:
    values = tuple(place / 100 for place in range(20))
    design = search("brute_force", space={"recipe.dropout": values, "recipe.weight_decay": values})
    known = KnownCandidates(design, BASELINE, ("recipe.dropout + recipe.weight_decay <= 0.01",))
    points = propose(design, BASELINE, (), 0, 2, known=known)
    points += propose(design, BASELINE, seen(points), 1, 2, known=known)
    assert len({(point["recipe.dropout"], point["recipe.weight_decay"]) for point in points}) == len(points) == 3


@pytest.mark.parametrize("sampler", ["random", "tpe", "brute_force"])
def test_a_small_space_is_exhausted_and_then_the_run_ends(tmp_path: Path, sampler: str) -> None:
    space = {**SPACE, "convolution.kernel_size": KERNELS[:2]}
    design = {**SEARCH, "space": space, "sampler": sampler, "max_candidates": 90, "cohort": 3, "max_seeds": 1}
    course = simulated.search(tmp_path, design=design)
    track = Track(course, tmp_path, order=random.Random(1), ledger_path=Path(":memory:"), publishes=False)
    arms = found(track.run())["arms"]
    assert len({candidate for *_, candidate in arms}) == len(arms) == 3 * (1 + 2 * 2)


class Counting(KnownCandidates):
    """Counts the points that were drawn, and the candidates that were built for them."""

    drawn = 0

    def possible(self, point: Mapping[str, Any]) -> str | None:
        self.drawn += 1
        return super().possible(point)


@pytest.mark.parametrize(("sampler", "most_drawn"), [("brute_force", 10), ("random", 9999)])
def test_a_candidate_is_built_once_however_often_its_point_is_drawn(
    sampler: str, most_drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, built = encoding.possible, list[str]()

    def counted(baseline: Candidate, point: Mapping[str, Any], constraints: tuple[str, ...]) -> str | None:
        built.append(str(point))
        return build(baseline, point, constraints)

    design = search(sampler, space={"recipe.dropout": (0.0, 0.1, 0.2, 0.3), "recipe.weight_decay": (0.0, 0.02)})
    known, points = Counting(design, BASELINE), tuple[dict[str, Any], ...]()
    for cohort in range(4):
        resumed = propose(design, BASELINE, seen(points), cohort, 3)
        with monkeypatch.context() as patched:
            patched.setattr(encoding, "possible", counted)
            proposed = propose(design, BASELINE, seen(points), cohort, 3, known=known)
        assert proposed == resumed
        points += proposed
    assert len(points) == len(built) == len({*built}) == 8
    assert 8 <= known.drawn <= most_drawn


def test_importance_ranks_the_relevant_axis_first_and_is_empty_with_too_few_results() -> None:
    design = search("random", space={"bottleneck_ratio": (1, 2, 4), "feed_forward_groups": (1, 2, 4)})
    known = tuple(
        Observation({"bottleneck_ratio": ratio, "feed_forward_groups": groups}, (5.0 + ratio,), complete=False)
        for ratio, groups in product((1, 2, 4), repeat=2)
    )
    shares = importance(design, BASELINE, known)
    assert shares["bottleneck_ratio"] > 0.9
    diverged = Observation({"bottleneck_ratio": 2}, (), complete=False, diverged=True)
    assert importance(design, BASELINE, (*known, diverged)) == shares
    assert importance(design, BASELINE, ()) == importance(design, BASELINE, (diverged,)) == {}


@pytest.mark.parametrize("values", [(5.0,), (5.0, 5.0, 5.0)])
def test_without_two_different_values_no_axis_has_a_share_and_nothing_is_printed(
    values: tuple[float, ...], recwarn: pytest.WarningsRecorder
) -> None:
    design = search("random", space={"bottleneck_ratio": (1, 2, 4), "feed_forward_groups": (1, 2, 4)})
    known = tuple(
        Observation({"bottleneck_ratio": ratio, "feed_forward_groups": 1}, (value,), complete=False)
        for ratio, value in zip((1, 2, 4), values, strict=False)
    )
    assert importance(design, BASELINE, known) == {}
    assert not recwarn.list
