"""Counts and contrasts of every design's points, for all axes, constraints and conditions."""

from collections import Counter
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.fractions import smallest
from configuration.arm import BASELINE
from configuration.designs import (
    Coalitions,
    Factorial,
    Fractional,
    KeepOne,
    Ladder,
    LeaveOneOut,
    ListDesign,
    OneFactor,
    Pairs,
    Zip,
)
from configuration.designs.point import PointDesign
from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride, apply
from tests.factories.arm_tables import CHANGES, CONSTRAINTS, ELECTRA_SMALL, arm_table_of, arms_of, axes

FREE: dict[str, tuple[Any, Any]] = {
    "bottleneck_ratio": (1, 2),
    "heads": (4, 8),
    "feed_forward_groups": (1, 2),
    "depth": (12, 6),
    "recipe.dropout": (0.1, 0.2),
    "objective.mask_rate": (0.15, 0.3),
    "recipe.weight_decay": (0.01, 0.1),
    "segments": (2, 3),
}


def some_axes(at_most: int) -> st.SearchStrategy[dict[str, Any]]:
    """Draw axes that no rule joins, each with two values."""
    names = st.lists(st.sampled_from(sorted(FREE)), min_size=2, max_size=at_most, unique=True)
    return names.map(lambda chosen: {name: FREE[name] for name in chosen})


free_axes = some_axes(len(FREE))


@settings(max_examples=40)
@given(some_axes(5))  # 32 arms at most
def test_a_factorial_has_every_combination_once_and_its_columns_are_orthogonal(vary: dict[str, Any]) -> None:
    levels = [arm.levels for arm in arms_of(Factorial(vary=vary))]
    assert len(levels) == 2 ** len(vary)
    assert {tuple(each[path] for path in vary) for each in levels} == set(product(*vary.values()))


@given(axes())
def test_a_factorial_crosses_an_options_field_only_with_that_option(vary: dict[str, Any]) -> None:
    design = Factorial(vary=vary)
    points = list(design.points(ELECTRA_SMALL))
    assert design.size(ELECTRA_SMALL) == len(points)
    own = [len(values) for path, values in vary.items() if not path.startswith("convolution")]
    kernels = len(vary.get("convolution.kernel_size", (None,)))
    kinds = [1 if kind == "none" else kernels for kind in vary.get("convolution", ("none",))]
    expected = sum(kinds)
    for count in own:
        expected *= count
    assert len(points) == expected
    for point in points:
        assert ("convolution.kernel_size" in point.levels) == (
            "convolution.kernel_size" in vary and point.changes["convolution"] != "none"
        )


@given(free_axes, st.sampled_from((3, 4, 5)))
def test_a_fractions_columns_are_balanced_and_orthogonal_up_to_its_resolution(
    vary: dict[str, Any], resolution: Any
) -> None:
    design = Fractional(vary=vary, resolution=resolution)
    arms = arms_of(design)
    assert len(arms) == design.size(ELECTRA_SMALL) <= 2 ** len(vary)
    assert arms[0].levels == {path: values[0] for path, values in vary.items()}
    for count in range(1, min(resolution, len(vary) + 1)):
        for some in combinations(vary, count):
            seen = Counter(tuple(arm.levels[path] for path in some) for arm in arms)
            assert set(seen) == set(product(*(vary[path] for path in some)))
            assert len(set(seen.values())) == 1, f"{some} at resolution {resolution}"


RUNS = {3: {3: 4, 7: 8, 15: 16}, 4: {4: 8, 8: 16, 16: 32}, 5: {5: 16, 6: 32, 8: 64, 11: 128, 17: 256}}
"""Resolution to factors to the fewest runs known: Box, Hunter and Hunter 2005, Statistics for Experimenters,
table 6.22; for 17 factors, the binary linear code [17, 9, 5]."""


@pytest.mark.parametrize(
    ("resolution", "factors", "runs"),
    [(r, factors, runs) for r, row in RUNS.items() for factors, runs in row.items()],
)
def test_fractions_are_as_small_as_the_known_ones(resolution: int, factors: int, runs: int) -> None:
    fraction = smallest(factors, resolution, 10)
    assert fraction is not None
    assert fraction.runs == runs
    assert all(len(word) >= resolution for word in fraction.defining_relation())


def test_effects_are_aliases_exactly_where_their_columns_agree_up_to_a_sign() -> None:
    fraction = smallest(6, 3, 10)
    assert fraction is not None
    signs = [[-1 if bit == 0 else 1 for bit in fraction.bits(run)] for run in range(fraction.runs)]
    columns: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for effect in [each for order in (1, 2) for each in combinations(range(6), order)]:
        column = [row[effect[0]] * (row[effect[1]] if len(effect) == 2 else 1) for row in signs]
        columns.setdefault(tuple(value * column[0] for value in column), set()).add(effect)
    assert {frozenset(each) for each in columns.values() if len(each) > 1} == set(map(frozenset, fraction.aliases()))


def test_the_notes_of_a_fraction_state_its_resolution_and_its_signed_aliases() -> None:
    design = Fractional(vary={path: FREE[path] for path in ("heads", "depth", "segments")}, resolution=3)
    assert list(design.notes()) == [
        "2^(3-1), 4 runs, resolution III",
        "A heads, B depth, C segments",
        "I = -ABC",
        "A = -BC",
        "B = -AC",
        "C = -AB",
    ]
    for arm in arms_of(design):
        a, b, c = (-1 if arm.levels[path] == FREE[path][0] else 1 for path in ("heads", "depth", "segments"))
        assert a * b * c == -1


@given(free_axes)
def test_pairs_have_each_combination_of_two_changed_factors_once(vary: dict[str, Any]) -> None:
    arms = arms_of(Pairs(vary=vary))[1:]
    assert len(arms) == len(vary) * (len(vary) - 1) // 2
    assert {frozenset(arm.levels) for arm in arms} == {frozenset(pair) for pair in combinations(vary, 2)}
    assert all(set(arm.changes) == set(arm.levels) for arm in arms)


def test_an_option_and_its_own_field_are_a_pair_if_the_option_has_the_field() -> None:
    vary = {"convolution": ("none", "dynamic"), "convolution.kernel_size": (3, 9)}
    (pair,) = arms_of(Pairs(vary=vary))[1:]  # 9 is what the option has anyway
    assert pair.levels == {"convolution": "dynamic", "convolution.kernel_size": 3}


def test_zipped_axes_vary_together_and_are_left_out_if_the_option_lacks_the_field() -> None:
    vary: dict[str, Any] = {
        "heads": (2, 8, 16),
        "convolution": ("none", "dynamic", "span_dynamic"),
        "convolution.kernel_size": (3, 5, 7),
    }
    assert [arm.levels for arm in arms_of(Zip(vary=vary))[1:]] == [
        {"heads": 2, "convolution": "none"},
        {"heads": 8, "convolution": "dynamic", "convolution.kernel_size": 5},
        {"heads": 16, "convolution": "span_dynamic", "convolution.kernel_size": 7},
    ]


DESIGNS = (
    "one_factor",
    "factorial",
    "pairs",
    "zip",
    "fractional",
    "ladder",
    "keep_one",
    "leave_one_out",
    "coalitions",
    "list",
)


def designed(kind: str, vary: dict[str, Any]) -> PointDesign | None:
    """The design over the axes, None where it cannot be written over them."""
    pairs = len(vary) > 1
    alone = {f"c{at}": {path: values[0]} for at, (path, values) in enumerate(vary.items()) if "." not in path}
    two = {path: values for path, values in vary.items() if len(values) == 2 and "kernel" not in path}
    length = min(map(len, vary.values()))
    makers: dict[str, Any] = {
        "one_factor": lambda: OneFactor(vary={path: values for path, values in vary.items() if "kernel" not in path}),
        "factorial": lambda: Factorial(vary=vary),
        "pairs": lambda: Pairs(vary=vary) if pairs else None,
        "zip": lambda: Zip(vary={path: values[:length] for path, values in vary.items() if "kernel" not in path}),
        "fractional": lambda: Fractional(vary=two, resolution=3) if len(two) > 1 else None,
        "ladder": lambda: Ladder(components=alone) if alone else None,
        "keep_one": lambda: KeepOne(components=alone) if len(alone) > 1 else None,
        "leave_one_out": lambda: LeaveOneOut(components=alone) if len(alone) > 1 else None,
        "coalitions": lambda: Coalitions(components=alone) if 1 < len(alone) < 7 else None,
        "list": lambda: ListDesign(arms=alone) if alone else None,
    }
    found: PointDesign | None = makers[kind]()
    return found


@settings(max_examples=200)
@given(st.sampled_from(DESIGNS), axes(), st.lists(st.sampled_from(CONSTRAINTS), unique=True, max_size=2).map(tuple))
def test_every_point_is_an_arm_or_is_reported_and_no_arm_breaks_a_rule(
    kind: str, vary: dict[str, Any], constraints: tuple[str, ...]
) -> None:
    design = designed(kind, vary)
    if design is None or broken_by(ELECTRA_SMALL, constraints) is not None:
        return
    if list(design.own_violations(ELECTRA_SMALL)):
        return
    asked = list(design.points(ELECTRA_SMALL))
    possible = {}
    for point in asked:
        try:
            candidate = apply(ELECTRA_SMALL, point.changes)
        except InvalidOverride:
            continue
        if broken_by(candidate, constraints) is None:
            possible[point.name] = candidate
    skipping = arm_table_of(design, constraints=constraints, skip=True)
    refusing = arm_table_of(design, constraints=constraints)
    violation_lines = len(skipping.impossible)
    assert violation_lines == len(asked) - sum(1 for point in asked if point.name in possible)
    assert bool(refusing.violations) >= bool(violation_lines)
    for arm in skipping.arms:
        assert list(arm.candidate.violations()) == []
        assert broken_by(arm.candidate, constraints) is None
        if arm.name != BASELINE:
            assert arm.candidate == possible[arm.name]
    assert {arm.candidate.model_dump_json() for arm in skipping.arms} == {
        each.model_dump_json() for each in (ELECTRA_SMALL, *possible.values())
    }


def test_the_axes_of_these_tests_reach_every_kind_of_clash() -> None:
    vary = {path: CHANGES[path] for path in ("heads", "bottleneck_ratio", "convolution", "convolution.kernel_size")}
    arm_table = arm_table_of(Factorial(vary=vary), constraints=("not convolution.kernel_size > 5",), skip=True)
    reasons = {reason.split(" ")[0] for one in arm_table.impossible for reason in one.reasons}
    assert reasons == {"4", "breaks"}
