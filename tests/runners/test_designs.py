"""A design says which arms there are; what repeats, changes nothing or cannot be is told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.designs import ListDesign, OneFactor, Search
from runners.designs.arm import BASELINE
from search_space.candidate import Candidate
from search_space.change import apply, difference

ELECTRA_SMALL = Candidate()
CHANGES: dict[str, list[Any]] = {
    "bottleneck_ratio": [2, 4],
    "feed_forward_groups": [2, 4],
    "convolution": [{"kind": "dynamic"}, {"kind": "span_dynamic", "kernel_size": 5}],
    "recipe.dropout": [0.0, 0.2],
    "objective.mask_rate": [0.1, 0.2],
}
REMEDY = "let its fields vary on axes of their own, such as convolution.kernel_size"


def told(design: ListDesign | OneFactor | Search) -> list[str]:
    return [f"{'.'.join(map(str, one.path))}: {one.message}" for one in design.violations(ELECTRA_SMALL)]


@st.composite
def vary(draw: st.DrawFn) -> dict[str, list[Any]]:
    axes = draw(st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, unique=True))
    return {
        axis: draw(st.lists(st.sampled_from(CHANGES[axis]), min_size=1, max_size=2, unique_by=str)) for axis in axes
    }


@given(vary())
def test_one_factor_gives_the_baseline_and_one_arm_per_value_each_changed_in_that_alone(axes: dict[str, Any]) -> None:
    design = OneFactor(vary={axis: tuple(values) for axis, values in axes.items()})
    baseline, *arms = design.candidates(ELECTRA_SMALL)
    assert (baseline.name, baseline.candidate, dict(baseline.changes)) == (BASELINE, ELECTRA_SMALL, {})
    contrasts = [(axis, value) for axis, values in axes.items() for value in values]
    assert [arm.candidate for arm in arms] == [apply(ELECTRA_SMALL, {axis: value}) for axis, value in contrasts]
    assert all(list(arm.changes) == [axis] for arm, (axis, _) in zip(arms, contrasts, strict=True))
    assert len({arm.name for arm in arms} | {BASELINE}) == len(arms) + 1
    assert told(design) == []


@given(vary())
def test_a_list_keeps_its_names_and_order_and_every_arm_its_own_changes(axes: dict[str, Any]) -> None:
    wanted = {f"arm-{axis}": {axis: values[0]} for axis, values in axes.items()}
    design = ListDesign(arms=wanted)
    arms = design.candidates(ELECTRA_SMALL)
    assert [arm.name for arm in arms] == [BASELINE, *wanted]
    for arm in arms[1:]:
        assert arm.candidate == apply(ELECTRA_SMALL, wanted[arm.name])
        assert dict(arm.changes) == difference(ELECTRA_SMALL, arm.candidate)
        assert apply(ELECTRA_SMALL, arm.changes) == arm.candidate
    assert told(design) == []


def test_a_value_that_is_the_baselines_own_gives_no_second_baseline() -> None:
    design = OneFactor(vary={"bottleneck_ratio": (1, 2)})
    assert [arm.name for arm in design.candidates(ELECTRA_SMALL)] == [BASELINE, "bottleneck_ratio=2"]
    assert told(design) == []


def test_two_settings_of_one_option_are_two_arms_of_two_names() -> None:
    kernels: tuple[Any, ...] = tuple({"kind": "dynamic", "kernel_size": size} for size in (3, 15))
    arms = OneFactor(vary={"convolution": kernels}).candidates(ELECTRA_SMALL)
    names = [BASELINE, "convolution=dynamic(kernel_size=3)", "convolution=dynamic(kernel_size=15)"]
    assert [arm.name for arm in arms] == names


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (ListDesign(arms={"idle": {"bottleneck_ratio": 1}}), "arms.idle: idle changes nothing: it is the baseline"),
        (
            ListDesign(arms={"a": {"heads": 2}, "b": {"heads": 2, "bottleneck_ratio": 1}}),
            "arms.b: b is the same candidate as a",
        ),
        (
            ListDesign(arms={"odd": {"convolution": {"kind": "dynamic", "kernel_size": 4}}}),
            "arms.odd.convolution: 4",
        ),
        (
            ListDesign(arms={"three": {"bottleneck_ratio": 3}}),
            "arms.three.bottleneck_ratio: 3 does not divide heads 4; γ keeps whole heads. Allowed near it: 1, 2, 4",
        ),
        (
            OneFactor(vary={"bottleneck_ratio": ()}),
            "vary.bottleneck_ratio: no values to vary over; list at least one",
        ),
        (OneFactor(vary={"heads": (2, 2)}), "vary.heads.1: heads=2 stands twice"),
        (
            Search(space={"heads": (2, 2)}),
            "space.heads.1: 2 stands twice on this axis",
        ),
        (
            Search(space={"convolution": ({"kind": "dynamic"}, {"kind": "dynamic", "kernel_size": 3})}),
            f"space.convolution.1: dynamic stands twice on this axis; {REMEDY}",
        ),
        (Search(space={"heads": ()}), "space.heads: no values to choose from; list at least one"),
        (
            Search(space={"convolution": ("none", "dynamic"), "convolution.kernel_size": (3, 8)}),
            'space.convolution.kernel_size.1: 8 is even; "same" padding needs an odd kernel. Did you mean 7 or 9?',
        ),
        (
            Search(space={"convolution": ("none", "dynamc")}),
            "space.convolution.1: 'dynamc' is not a kind. Allowed: none, depthwise, lightweight, dynamic",
        ),
        (Search(space={"heds": (2,)}), "space.heds.0: heds is not a field of architecture. Did you mean heads?"),
    ],
)
def test_what_no_arm_can_be_is_told_with_its_place(design: ListDesign | OneFactor | Search, message: str) -> None:
    assert [line for line in told(design) if line.startswith(message)], told(design)


def test_a_search_that_nothing_is_known_of_yet_is_its_baseline() -> None:
    design = Search(space={"bottleneck_ratio": (1, 2)})
    assert [arm.name for arm in design.candidates(ELECTRA_SMALL)] == [BASELINE]
    assert told(design) == []


def test_a_value_that_only_clashes_with_the_baselines_sizes_is_left_to_the_search() -> None:
    assert told(Search(space={"heads": (4, 8), "bottleneck_ratio": (1, 8)})) == []
