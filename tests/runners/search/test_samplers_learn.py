"""Adaptive samplers learn from results: their points are better than uniform sampling."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from statistics import fmean
from typing import Any, get_args

import pytest
from scipy.stats import ttest_rel

from runners.search.encoding import KnownCandidates, labels, point_of
from runners.search.observations import Observation
from runners.search.optuna_sampler import propose
from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.configuration.designs import Search
from steeplechase.configuration.designs.search import NON_ADAPTIVE
from steeplechase.foundation.randomness import stream

LEARNING = sorted({*get_args(Search.model_fields["sampler"].annotation)} - {"random", *NON_ADAPTIVE})
BASELINE = Candidate()
SPACE: dict[str, tuple[Any, ...]] = {
    "bottleneck_ratio": (1, 2, 4),
    "feed_forward_groups": (1, 2, 4),
    "recipe.dropout": (0.0, 0.1, 0.2, 0.3),
    "recipe.weight_decay": (0.0, 0.01, 0.1, 0.2),
}
CONDITIONAL = {
    "feed_forward_groups": (2, 4),  # the baseline has 1
    "convolution": ({"kind": "none"}, {"kind": "dynamic"}, {"kind": "span_dynamic"}),
    "convolution.kernel_size": (3, 5, 7, 9, 11, 13, 15, 17),
}
COHORT, COHORTS, TOLD = 4, 6, 24
SEEDS, SEEDS_OF = 8, {"gp": 6}  # a proposal of the Gaussian process takes 0.2 s
LEAST_P = 0.02


def search(sampler: str, seed: int, **more: Any) -> Search:
    known = {"space": SPACE, "sampler": sampler, "seed": seed, "cohort": COHORT}
    return Search.model_validate({**known, "max_candidates": 99, "max_seeds": 9, **more})


@cache
def candidate_at(point: str) -> Candidate:
    """Return the candidate at a point, which is written as JSON."""
    return apply(BASELINE, json.loads(point))


def additive(design: Search, changes: Mapping[str, Any]) -> float:
    """Return a sum over the axes that a candidate has; which values are good is drawn from the search's seed."""
    point, total = point_of(design, candidate_at(json.dumps(changes))), 5.0
    for axis, label in point.items():
        known = labels(design, axis, BASELINE)
        effects = stream(design.seed, f"loss: effects of {axis}").permutation(len(known)) / len(known)
        total += float(effects[known.index(label)]) if label in known else 0.5
    return total


def told(design: Search, points: list[dict[str, Any]], share: float = 1.0) -> tuple[Observation, ...]:
    """Return observations of the baseline and of candidates, the best share of which is complete."""
    baseline = (additive(design, {}),)
    found = [(additive(design, point),) for point in points]
    bar = sorted(found)[int(len(found) * share) - 1] if found else ()
    seen = (
        Observation(point, (one[0], one[0]), True, one) if one <= bar else Observation(point, one[:1], False)
        for point, one in zip(points, found, strict=True)
    )
    return (Observation({}, baseline[:1], True, baseline, proposed=False), *seen)


def even_draws(design: Search) -> list[dict[str, Any]]:
    even = search("random", design.seed, space=design.space)
    return [point for cohort in range(TOLD // COHORT) for point in propose(even, BASELINE, (), cohort, COHORT)]


def mean_of(design: Search, points: Iterable[dict[str, Any]]) -> float:
    return fmean(additive(design, point) for point in points)


def assert_better(pairs: list[tuple[float, float]]) -> None:
    assert ttest_rel(*zip(*pairs, strict=True), alternative="less").pvalue < LEAST_P, pairs


def assert_learns(sampler: str, share: float = 1.0, **more: Any) -> None:
    """Compare the cohort after uniform sampling with that sample and with the next uniform one."""
    pairs = []
    for seed in range(SEEDS_OF.get(sampler, SEEDS)):
        design, points = search(sampler, seed, **more), even_draws(search(sampler, seed, **more))
        seen = told(design, points, share)
        mine = propose(design, BASELINE, seen, 99, COHORT)
        assert mine != propose(search("random", seed, **more), BASELINE, seen, 99, COHORT)
        pairs.append((mean_of(design, mine), mean_of(design, points)))
    assert_better(pairs)


@pytest.mark.parametrize("sampler", LEARNING)
def test_adaptive_samplers_propose_better_points_than_uniform_sampling(sampler: str) -> None:
    assert_learns(sampler, share=0.5)


def test_conditional_axes_are_learned() -> None:
    assert_learns("tpe", space=CONDITIONAL)


def test_an_adaptive_search_outperforms_uniform_sampling() -> None:
    def later(design: Search) -> float:
        points, known = list[dict[str, Any]](), KnownCandidates(design, BASELINE)
        for cohort in range(COHORTS):
            points += propose(design, BASELINE, told(design, points), cohort, COHORT, known=known)
        return mean_of(design, points[-COHORT * COHORTS // 2 :])

    assert_better([(later(search("tpe", seed)), later(search("random", seed))) for seed in range(SEEDS)])


def test_the_order_of_numbers_is_used() -> None:
    """Of 64 widths, most of them never tried, the next cohort is nearer to the best width than an even draw."""

    def distance(point: dict[str, Any]) -> float:
        return abs(point["feed_forward_width"] - 640) / 1024

    pairs = []
    for seed in range(SEEDS):
        space = {"feed_forward_width": tuple(range(16, 1025, 16))}
        design, even = (search(sampler, seed, space=space) for sampler in ("tpe", "random"))
        known = propose(even, BASELINE, (), 0, 16)
        seen = tuple(Observation(point, (distance(point),), True, (distance(point),)) for point in known)
        drawn = propose(even, BASELINE, (), 1, COHORT)
        pairs.append(
            tuple(fmean(map(distance, each)) for each in (propose(design, BASELINE, seen, 1, COHORT), drawn))
        )
    assert_better(pairs)
