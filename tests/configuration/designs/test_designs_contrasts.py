"""Counts and contrasts of every design's points, components and ranges, for all axes and conditions."""

from itertools import combinations, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_space.candidate import Candidate
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
    Search,
    Zip,
)
from steeplechase.configuration.designs import axes as axes_of_designs
from steeplechase.configuration.designs.axis_values import VALUES_AT_MOST, values_of
from steeplechase.configuration.designs.point import PointDesign
from steeplechase.configuration.yaml import load
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.schema import Schema
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


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ({"low": 3, "high": 15, "step": 4}, (3, 7, 11, 15)),
        ({"low": 1, "high": 8, "step": 3}, (1, 4, 7)),
        ({"low": 0, "high": 0.4, "step": 0.1}, (0.0, 0.1, 0.2, 0.3, 0.4)),
        ({"low": 1, "high": 10, "log": True}, (1, 2, 3, 4, 5, 6, 8, 10)),
        ({"low": 1e-4, "high": 2e-4, "log": True}, (1e-4, 1.26e-4, 1.59e-4, 2e-4)),
    ],
)
def test_a_range_is_its_values(written: dict[str, Any], values: tuple[float, ...]) -> None:
    assert values_of(written) == values
    assert [type(value) for value in values_of(written)] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("{ low: 1, high: 4 }", "an axis is a list of values, or a range such as"),
        (
            "{ low: 1, high: 4, step: 1, log: true }",
            "step and log exclude each other; an axis is a list of values, or a range such as",
        ),
        ("{ low: 1, hihg: 4, step: 1 }", "hihg: not a key of a range"),
        ("{ low: 4, high: 1, step: 1 }", "the range from 4 to 1 is empty"),
        ("{ low: 0, high: 1, step: 1.0e-320 }", "the range from 0 to 1 has more values than can be counted"),
        ("{ low: 1.0e-300, high: 1.0e+300, log: true }", "the range from 1e-300 to 1e+300 has more values"),
        ("{ low: 1, high: 4, step: 0 }", "step is 0; a number above 0 is needed"),
        ("{ low: 0, high: 4, log: true }", "a logarithmic range has `log: true` and a low above 0"),
        ("{ low: 1, high: 4, log: false }", "a logarithmic range has `log: true` and a low above 0"),
        ("{ low: one, high: 4, step: 1 }", "low of a range is a number, not 'one'"),
        ("{ low: true, high: 4, step: 1 }", "low of a range is a number, not True"),
        ("{ low: 1, high: 1e9, step: 1 }", f"at most {VALUES_AT_MOST:,} are allowed"),
        ("5", "a list is needed"),
    ],
)
def test_another_form_is_refused_at_its_line(written: str, rule: str, tmp_path: Any) -> None:
    class Holder(Schema):
        design: OneFactor

    (tmp_path / "file.yaml").write_text(f"design:\n  kind: one_factor\n  vary:\n    heads: {written}\n")
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path / "file.yaml", Holder, None)
    (line,) = refused.value.lines
    assert line.startswith(f"{tmp_path / 'file.yaml'}:4: design.vary.heads: ")
    assert rule in line


@pytest.mark.parametrize("design", [OneFactor, Factorial, Search])
def test_a_design_with_a_range_is_the_design_with_its_list(design: type[Schema]) -> None:
    key = "space" if design is Search else "vary"
    ranged, listed = (
        design.model_validate({key: {"heads": heads}}) for heads in ({"low": 2, "high": 6, "step": 2}, (2, 4, 6))
    )
    assert ranged == listed
    assert design.model_validate_json(ranged.model_dump_json()) == listed


@pytest.mark.parametrize(("most", "tried"), [(3, 3), (20, 10)])
def test_an_impossible_value_is_tried_at_few_points(monkeypatch: pytest.MonkeyPatch, most: int, tried: int) -> None:
    calls = list[Any]()
    monkeypatch.setattr(axes_of_designs, "POINTS_TRIED", most)

    def counted(*given: Any) -> Candidate:
        calls.append(given)
        return apply(*given)

    monkeypatch.setattr(axes_of_designs, "apply", counted)
    value, beside = {"recipe.dropout": 2.0}, {"recipe.weight_decay": (0.01,) * 9}
    axes = {"recipe.dropout": (2.0,), **beside}
    found = [*axes_of_designs.impossible_with_every_option(axes, Candidate(), [{}], value, ("space",))]
    assert (len(calls), bool(found)) == (
        tried,
        tried < most,
    )  # what is not tried everywhere is reported by the points


def test_a_list_of_a_search_has_no_more_values_than_a_range_may() -> None:
    search = Search(space={"width": tuple(range(2, 2 * VALUES_AT_MOST + 4, 2))})
    (found,) = search.violations(Candidate())
    assert (found.path, found.message) == (("space", "width"), "1,025 values; at most 1,024 are allowed")
