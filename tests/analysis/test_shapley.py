"""Shapley values are efficient, symmetric and 0 for what changes nothing; additive components are recovered."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.analysis.effects import contrasts
from steeplechase.analysis.estimates import Estimates, Moments
from steeplechase.analysis.shapley import ShapleyWeights, all_orders, of_orders, over_orders, sampled_orders

NAMES = ("bottleneck", "convolution", "groups", "heads")
SIZES = st.integers(1, 4)
GAMES = st.integers(0, 10_000).map(lambda start: np.random.default_rng(start).normal(size=16))


def arms_with(means: np.ndarray) -> Moments:
    return Moments(np.full(len(means), 3.0), means, np.ones(len(means)))


def shapley_values(arms: Moments, weights: ShapleyWeights) -> Estimates:
    over_seeds = contrasts(arms, weights.weights)
    return over_seeds if weights.by_order is None else over_orders(over_seeds, weights.by_order @ arms.mean)


def values_of(weights: ShapleyWeights, worth: dict[frozenset[str], float]) -> dict[str, float]:
    found = shapley_values(arms_with(np.array([worth[each] for each in weights.coalitions])), weights)
    return dict(zip(weights.components, found.value.tolist(), strict=True))


def game(values: np.ndarray, names: tuple[str, ...]) -> dict[frozenset[str], float]:
    return dict(zip(all_orders(names).coalitions, values.tolist(), strict=False))


@given(SIZES, GAMES)
def test_values_add_up_to_the_whole_difference(size: int, values: np.ndarray) -> None:
    names = NAMES[:size]
    worth = game(values, names)
    total = worth[frozenset(names)] - worth[frozenset()]
    for weights in (all_orders(names), sampled_orders(names, 5)):
        assert sum(values_of(weights, worth).values()) == pytest.approx(total)


@given(SIZES, GAMES)
def test_all_permutations_are_the_closed_form(size: int, values: np.ndarray) -> None:
    names = NAMES[:size]
    worth = game(values, names)
    every = of_orders(names, list(permutations(names)))
    assert values_of(every, worth) == pytest.approx(values_of(all_orders(names), worth))


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.integers(1, 6))
def test_additive_components_are_recovered_from_any_orders(effects: list[float], orders: int) -> None:
    own = dict(zip(NAMES, effects, strict=True))
    for weights in (all_orders(NAMES), sampled_orders(NAMES, orders)):
        worth = {each: 2.0 + sum(own[one] for one in each) for each in weights.coalitions}
        assert values_of(weights, worth) == pytest.approx(own)


def test_one_order_has_no_interval() -> None:
    weights = sampled_orders(NAMES, 1)
    found = shapley_values(arms_with(np.arange(5.0)), weights)
    assert np.isfinite(found.value).all()
    assert np.isnan(found.p()).all()
