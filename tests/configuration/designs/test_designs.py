"""Designs give their arms; duplicates, impossible points and unbalanced factorials are reported."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_space.candidate import Candidate
from search_space.overrides import apply, difference
from steeplechase.analysis.contrasts import CrossedDesign
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
from steeplechase.configuration.designs.factorial import crossed, missing_runs_warning
from steeplechase.configuration.designs.point import PointDesign
from tests.factories.arm_tables import ELECTRA_SMALL, arm_table_of, arms_of, violation_lines

CHANGES: dict[str, list[Any]] = {
    "bottleneck_ratio": [2, 4],
    "feed_forward_groups": [2, 4],
    "convolution": [{"kind": "dynamic"}, {"kind": "span_dynamic", "kernel_size": 5}],
    "recipe.dropout": [0.0, 0.2],
    "objective.mask_rate": [0.1, 0.2],
}
REMEDY = "let its fields vary on axes of their own, such as convolution.kernel_size"


@st.composite
def vary(draw: st.DrawFn) -> dict[str, list[Any]]:
    axes = draw(st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, unique=True))
    return {
        axis: draw(st.lists(st.sampled_from(CHANGES[axis]), min_size=1, max_size=2, unique_by=str)) for axis in axes
    }


@given(vary())
def test_one_factor_gives_the_baseline_and_one_arm_per_value_each_changed_in_that_alone(axes: dict[str, Any]) -> None:
    design = OneFactor(vary={axis: tuple(values) for axis, values in axes.items()})
    baseline, *arms = arms_of(design)
    assert (baseline.name, baseline.candidate, dict(baseline.changes)) == (BASELINE, ELECTRA_SMALL, {})
    contrasts = [(axis, value) for axis, values in axes.items() for value in values]
    assert [arm.candidate for arm in arms] == [apply(ELECTRA_SMALL, {axis: value}) for axis, value in contrasts]
    assert all(list(arm.changes) == [axis] for arm, (axis, _) in zip(arms, contrasts, strict=True))
    assert len({arm.name for arm in arms} | {BASELINE}) == len(arms) + 1
    assert violation_lines(design) == []


def test_a_field_is_no_axis_of_an_option_without_it_that_fits_another_value_alone() -> None:
    objectives, sides = ("masked_language_model", "language_model"), ("bidirectional", "left_to_right")
    axes = {"objective": objectives, "objective.mask_rate": (0.1, 0.2), "visibility": sides}
    design = Factorial.model_validate({"vary": axes})
    points = [point.changes for point in design.points(ELECTRA_SMALL)]
    assert len(points) == design.size(ELECTRA_SMALL) == 6
    assert {"objective": "language_model", "visibility": "left_to_right"} in points


def test_two_axes_with_one_last_word_have_names_of_their_own() -> None:
    values = {"recipe.peak_learning_rate": (1e-3,), "fine_tuning.peak_learning_rate": (1e-3, 2e-3)}
    names = [arm.name for arm in arms_of(OneFactor(vary=values))[1:]]
    both = ["recipe.peak_learning_rate=0.001", "fine_tuning.peak_learning_rate=0.001"]
    assert names == [*both, "peak_learning_rate=0.002"]


@given(vary())
def test_a_list_keeps_names_order_and_changes_of_its_arms(axes: dict[str, Any]) -> None:
    wanted = {f"arm-{axis}": {axis: values[0]} for axis, values in axes.items()}
    design = ListDesign(arms=wanted)
    arms = arms_of(design)
    assert [arm.name for arm in arms] == [BASELINE, *wanted]
    for arm in arms[1:]:
        assert arm.candidate == apply(ELECTRA_SMALL, wanted[arm.name])
        assert dict(arm.changes) == difference(ELECTRA_SMALL, arm.candidate)
        assert apply(ELECTRA_SMALL, arm.changes) == arm.candidate
    assert violation_lines(design) == []


def test_a_value_equal_to_the_baselines_gives_no_second_baseline() -> None:
    design = OneFactor(vary={"bottleneck_ratio": (1, 2)})
    assert [arm.name for arm in arms_of(design)] == [BASELINE, "bottleneck_ratio=2"]
    assert violation_lines(design) == []


def test_two_settings_of_one_option_are_two_arms_of_two_names() -> None:
    kernels: tuple[Any, ...] = tuple({"kind": "dynamic", "kernel_size": size} for size in (3, 15))
    arms = arms_of(OneFactor(vary={"convolution": kernels}))
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
            OneFactor(vary={"bottleneck_ratio": ()}),
            "vary.bottleneck_ratio: no values to vary over; list at least one",
        ),
        (OneFactor(vary={"heads": (2, 2)}), "vary.heads.1: heads=2 is listed twice"),
        (
            Search(space={"heads": (2, 2)}),
            "space.heads.1: 2 is listed twice on this axis",
        ),
        (
            Search(space={"convolution": ({"kind": "dynamic"}, {"kind": "dynamic", "kernel_size": 3})}),
            f"space.convolution.1: dynamic is listed twice on this axis; {REMEDY}",
        ),
        (
            Search(space={"convolution": ("none", "dynamic"), "convolution.kernel_size": (3, 8)}),
            'space.convolution.kernel_size.1: 8 is even; "same" padding needs an odd kernel. Did you mean 7 or 9',
        ),
        (
            Search(space={"convolution": ("none", "dynamc")}),
            "space.convolution.1: 'dynamc' is not a kind. Allowed: depthwise, dynamic, gated_dynamic",
        ),
        (Search(space={"heds": (2,)}), "space.heds.0: heds is not a field of architecture. Did you mean heads?"),
    ],
)
def test_an_impossible_arm_is_reported_at_its_location(design: PointDesign | Search, message: str) -> None:
    assert [line for line in violation_lines(design) if line.startswith(message)], violation_lines(design)


def test_an_even_kernel_is_allowed_beside_a_window_with_which_it_is_possible() -> None:
    space = {"convolution": ("none", "dynamic"), "convolution.kernel_size": (3, 8)}
    assert violation_lines(Search(space={**space, "convolution.window": ("centred", "look_back")})) == []


def test_a_value_that_conflicts_only_with_the_baselines_sizes_is_allowed_in_a_search() -> None:
    assert violation_lines(Search(space={"heads": (4, 8), "bottleneck_ratio": (1, 8)})) == []


@pytest.mark.parametrize(
    ("design", "size"),
    [
        (Factorial(vary={f"recipe.{name}": tuple(range(1, 11)) for name in "abcdefghijkl"}), 10**12),
        (Factorial(vary={name: tuple(range(100, 10_100)) for name in ("depth", "heads", "width")}), 10**12),
        (
            Factorial(
                vary={
                    "convolution": ("none", "dynamic"),
                    "convolution.kernel_size": tuple(range(1, 1002, 2)),
                    "heads": (2, 4),
                }
            ),
            2 * 502,
        ),
        (OneFactor(vary={"width": tuple(range(1, 10**5 + 1))}), 10**5),
        (Zip(vary={"width": tuple(range(1, 10**5 + 1))}), 10**5),
    ],
)
def test_a_design_is_counted_without_its_points_and_too_many_are_refused(design: PointDesign, size: int) -> None:
    """Were the points made, this would never end."""
    assert design.size(ELECTRA_SMALL) == size
    refused = f"vary: {size:,} points; at most 1,024 can be arms. Did you mean search?"
    assert size <= 1024 or violation_lines(design) == [refused]


def test_designs_one_after_the_other_give_each_candidate_once_under_its_first_name() -> None:
    parts: dict[str, Any] = {"a": {"bottleneck_ratio": 2}, "b": {"convolution": "dynamic"}, "c": {"heads": 8}}
    designs = LeaveOneOut(components=parts), Ladder(components=parts), KeepOne(components=parts)
    arm_table = arm_table_of(*designs)
    assert arm_table.violations == []
    names = [BASELINE, "full", "without_a", "without_b", "without_c", "+a", "only_b", "only_c"]
    assert [arm.name for arm in arm_table.arms] == names
    assert arm_table.aliases == {"+b": "without_c", "+c": "full", "only_a": "+a"}
    assert len({arm.identity for arm in arm_table.arms}) == len(names)


def test_a_candidate_of_several_designs_has_its_levels_in_all_of_them() -> None:
    kept, ladder = KeepOne(components={"a": {"heads": 2}, "b": {"depth": 6}}), OneFactor(vary={"heads": (2,)})
    arm = arms_of(kept, ladder)[1]
    assert (arm.name, arm.levels) == ("only_a", {"a": True, "b": False, "heads": 2})


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (LeaveOneOut(components={"a": {"heads": 2}}), "components: 1 component; at least 2 are needed"),
        (
            LeaveOneOut(components={"a": {"heads": 2}, "b": {"heads": 8}}),
            "components.b.heads: heads is set by a already; leaving one of them out would be ambiguous",
        ),
        (Coalitions(components={"a": {"heads": 2}}), "components: 1 component; at least 2 are needed"),
        (
            Coalitions(components={"a": {"heads": 2}, "b": {"heads": 8}}),
            "components.b.heads: heads is set by a already; leaving one of them out would be ambiguous",
        ),
        (
            Coalitions(components={"a": {"heads": 2}, "b": {"depth": 6}, "c": {"bottleneck_ratio": 2}}, orders=6),
            "orders: 6; 3 components have 6 orders. Leave it out: every set is an arm",
        ),
        (Ladder(components={"a": {"heads": 4}}), "components.a: +a changes nothing: it is the baseline"),
        (Ladder(components={"a": {}}), "components.a: a changes nothing"),
        (Ladder(components={"a": {"heds": 4}}), "components.a: +a: heds is not a field of architecture."),
        (Zip(vary={"heads": (2, 2)}), "vary: heads=2 is listed twice"),
        (Factorial(vary={"heads": (2, 8, 2)}), "vary.heads.2: 2 is listed twice on this axis"),
        (
            Factorial(vary={"heads": (2,), "convolution.kernel_size": (3,)}),
            "vary.convolution.kernel_size.0: kernel_size is",
        ),
    ],
)
def test_an_invalid_design_is_reported_at_its_location(design: PointDesign, message: str) -> None:
    assert [line for line in violation_lines(design) if line.startswith(message)], violation_lines(design)


DEFAULTS = Candidate()


WHOLE = Factorial(vary={"depth": (12, 6), "width": (256, 128), "feed_forward_width": (1024, 512)})


GRID = Factorial(vary={"depth": (12, 6, 4), "width": (256, 128), "feed_forward_width": (1024, 512)})


def design_of(design: Factorial) -> CrossedDesign:
    found = crossed(design, DEFAULTS)
    assert found is not None
    return found


def test_with_no_run_missing_every_effect_is_the_plain_contrast() -> None:
    design = design_of(WHOLE)
    assert (len(design.runs), design.missing, missing_runs_warning(design)) == (8, 0, "")
    assert not design.unbalanced()
    assert not design.correlated()
    for one in design.contrasts():
        weights = np.array(one.weights)
        assert not one.reason
        assert np.abs(weights) == pytest.approx((0.25 if one.kind == "main" else 0.5) * np.ones(8))
    names = {kind: [one.name for one in design.contrasts() if one.kind == kind] for kind in ("main", "interaction")}
    assert names["main"] == ["depth=6", "width=128", "feed_forward_width=512"]
    assert names["interaction"] == [" x ".join(pair) for pair in combinations(names["main"], 2)]


def test_a_missing_run_is_warned_of_with_what_it_unbalances() -> None:
    whole = design_of(WHOLE)  # 8 runs for the mean, 3 main effects and 3 pairs: one to spare
    design = whole.without({whole.runs[3]})
    assert not any(one.reason for one in design.contrasts())
    assert missing_runs_warning(design).startswith(
        "1 of 8 runs are impossible and the factorial is not full; no longer"
    )
    assert set(design.unbalanced()) == set(design.factors)
    assert len(design.correlated()) == 6 * 5 / 2
    fewer = design.without({whole.runs[0]})
    reasons = {one.name: one.reason for one in fewer.contrasts() if one.reason}
    assert reasons
    assert all("in the 6 of 8 runs that are there" in reason for reason in reasons.values())


def test_only_effects_that_average_over_a_missing_level_are_not_estimable() -> None:
    whole = design_of(GRID)
    design = whole.without({run for run in whole.runs if run[0] == 2})
    told_off = [one.name for one in design.contrasts() if one.reason]
    over_it = {"width=128", "feed_forward_width=512"}  # a main effect is the mean over all levels of the others
    assert set(told_off) == {"depth=4", *over_it, *(f"depth=4 x {name}" for name in over_it)}


def test_a_field_of_an_option_crosses_with_nothing() -> None:
    vary = {"convolution": ({"kind": "none"}, {"kind": "dynamic"}), "convolution.kernel_size": (3, 9)}
    assert crossed(Factorial(vary=vary), DEFAULTS) is None
