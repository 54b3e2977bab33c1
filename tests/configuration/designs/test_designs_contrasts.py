"""Counts and contrasts of every design's points, for all axes, constraints and conditions."""

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride, apply
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs import (
    Coalitions,
    Factorial,
    KeepOne,
    Ladder,
    LeaveOneOut,
    ListDesign,
    OneFactor,
    Zip,
)
from steeplechase.configuration.designs.point import PointDesign
from tests.factories.arm_tables import CONSTRAINTS, ELECTRA_SMALL, arm_table_of, arms_of, axes

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


@settings(max_examples=10)
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


DESIGNS = ("one_factor", "factorial", "zip", "ladder", "keep_one", "leave_one_out", "coalitions", "list")


def designed(kind: str, vary: dict[str, Any]) -> PointDesign | None:
    """The design over the axes, None where it cannot be written over them."""
    alone = {f"c{at}": {path: values[0]} for at, (path, values) in enumerate(vary.items()) if "." not in path}
    length = min(map(len, vary.values()))
    makers: dict[str, Any] = {
        "one_factor": lambda: OneFactor(vary={path: values for path, values in vary.items() if "kernel" not in path}),
        "factorial": lambda: Factorial(vary=vary),
        "zip": lambda: Zip(vary={path: values[:length] for path, values in vary.items() if "kernel" not in path}),
        "ladder": lambda: Ladder(components=alone) if alone else None,
        "keep_one": lambda: KeepOne(components=alone) if len(alone) > 1 else None,
        "leave_one_out": lambda: LeaveOneOut(components=alone) if len(alone) > 1 else None,
        "coalitions": lambda: Coalitions(components=alone) if 1 < len(alone) < 7 else None,
        "list": lambda: ListDesign(arms=alone) if alone else None,
    }
    found: PointDesign | None = makers[kind]()
    return found


@settings(max_examples=80)
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
