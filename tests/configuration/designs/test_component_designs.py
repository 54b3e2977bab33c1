"""Arms of the designs over components: which components each of them has."""

from itertools import combinations, pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs import (
    Coalitions,
    KeepOne,
    Ladder,
    LeaveOneOut,
)
from tests.factories.arm_tables import ELECTRA_SMALL, arms_of

PARTS: dict[str, dict[str, Any]] = {
    "bottleneck": {"bottleneck_ratio": 2},
    "convolution": {"convolution": "span_dynamic"},
    "groups": {"feed_forward_groups": 2},
    "dropout": {"recipe.dropout": 0.0, "recipe.weight_decay": 0.0},
    "shallow": {"depth": 6},
}
parts = st.lists(st.sampled_from(sorted(PARTS)), min_size=2, unique=True).map(
    lambda names: {name: PARTS[name] for name in names}
)


def with_parts(components: dict[str, Any], names: tuple[str, ...]) -> Candidate:
    return apply(ELECTRA_SMALL, {path: value for name in names for path, value in components[name].items()})


@given(parts)
def test_leave_one_out_arms_differ_from_the_full_model_in_exactly_one_component(components: dict[str, Any]) -> None:
    baseline, full, *others = arms_of(LeaveOneOut(components=components))
    assert (baseline.name, full.name) == (BASELINE, "full")
    assert full.candidate == with_parts(components, tuple(components))
    assert [arm.name for arm in others] == [f"without_{name}" for name in components]
    for name, arm in zip(components, others, strict=True):
        assert apply(arm.candidate, components[name]) == full.candidate != arm.candidate
        assert [part for part, there in arm.levels.items() if not there] == [name]


@given(parts)
def test_keep_one_arms_have_exactly_one_component(components: dict[str, Any]) -> None:
    _, *arms = arms_of(KeepOne(components=components))
    assert [arm.candidate for arm in arms] == [with_parts(components, (name,)) for name in components]
    assert [[part for part, there in arm.levels.items() if there] for arm in arms] == [[name] for name in components]


@given(parts)
def test_coalitions_are_every_set_of_components(components: dict[str, Any]) -> None:
    design = Coalitions(components=components)
    _, *arms = arms_of(design)
    sets = [tuple(part for part, there in arm.levels.items() if there) for arm in arms]
    assert sets == [names for size in range(1, len(components) + 1) for names in combinations(components, size)]
    assert [arm.name for arm in arms] == ["+".join(names) for names in sets]
    assert [arm.candidate for arm in arms] == [with_parts(components, names) for names in sets]
    assert len(arms) == design.size(ELECTRA_SMALL)


@given(st.integers(6, 9), st.integers(0, 5))
def test_coalitions_along_random_orders_are_the_steps_of_distinct_orders(orders: int, seed: int) -> None:
    design = Coalitions(components=PARTS, orders=orders, seed=seed)
    _, *arms = arms_of(design)
    sets = {frozenset(part for part, there in arm.levels.items() if there) for arm in arms}
    assert sets == set(design.weights.coalitions) - {frozenset()}
    assert frozenset(PARTS) in sets
    assert len(PARTS) < len(arms) <= design.size(ELECTRA_SMALL) <= orders * (len(PARTS) - 1) + 1
    assert arms_of(Coalitions(components=PARTS, orders=orders, seed=seed)) == arms_of(design)
    assert design.weights.by_order is not None
    drawn = {order.tobytes() for order in design.weights.by_order}
    assert len(drawn) == orders
    assert list(design.notes()) == [f"{orders} of 120 orders, {len(arms)} of 31 sets"]


@given(parts)
def test_each_rung_of_a_ladder_is_the_one_below_and_one_component_more(components: dict[str, Any]) -> None:
    rungs = arms_of(Ladder(components=components))
    assert [arm.name for arm in rungs[1:]] == [f"+{name}" for name in components]
    for name, (below, above) in zip(components, pairwise(rungs), strict=True):
        assert apply(below.candidate, components[name]) == above.candidate
    assert rungs[-1].candidate == with_parts(components, tuple(components))
