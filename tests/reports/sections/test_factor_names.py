"""Names of effects are unique in every kind of design and name the varied field."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.report import Report, build
from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.configuration.arms import ArmTable, Rules
from steeplechase.configuration.designs import Factorial, KeepOne, Ladder, LeaveOneOut, ListDesign, OneFactor
from steeplechase.configuration.designs.point import PointDesign
from tests.factories.read_reports import rows_of
from tests.factories.reports import Trial, document, snapshot

SEEDS = (1, 2, 3)
BASELINE = apply(Candidate(), {"convolution": "span_dynamic", "bottleneck_ratio": 2, "depth": 2})
AXES: dict[str, tuple[Any, ...]] = {
    "heads": (2, 4, 8),
    "convolution.kernel_size": (3, 9, 15),
    "bottleneck_ratio": (1, 2),
    "depth": (2, 3),
    "recipe.peak_learning_rate": (5e-4, 1e-3),
    "recipe.dropout": (0.1, 0.0),
}
OPTIONS = {"convolution": ("span_dynamic", "dynamic", {"kind": "dynamic", "kernel_size": 15}, "none")}
PARTS = {
    "wide": {"convolution.kernel_size": 15},
    "few": {"heads": 2, "bottleneck_ratio": 1},
    "plain": {"recipe.dropout": 0.0},
}


def report_of(designs: Iterable[PointDesign]) -> Report:
    arm_table, documents = ArmTable(BASELINE, Rules()), []
    for design in designs:
        arm_table.add_design(design, ("design",))
        documents.append(design.model_dump(mode="json"))
    assert not arm_table.violations
    arms = {arm.name: dict(arm.changes) for arm in arm_table.arms}
    trials = [
        Trial(name, seed).pretrained(6 + 0.01 * ((seed + 3 * position) * position % 7))
        for position, name in enumerate(arms)
        for seed in SEEDS
    ]
    baseline = BASELINE.model_dump(mode="json")
    resolved = document(seeds=SEEDS, design=documents, baseline=baseline)
    view = snapshot(trials, arms, resolved=resolved)
    own = {arm.name: {"levels": arm.levels, "candidate": arm.candidate} for arm in arm_table.arms}
    return build(replace(view, arms=tuple(replace(row, **own[row.name]) for row in view.arms)))


def names_of(report: Report, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in (*columns, "metric")) for row in rows_of(report, table)]


def assert_each_named_once(report: Report) -> None:
    for names in (names_of(report, "factors", "effect"), names_of(report, "isolated", "arm", "reference")):
        assert [name for name, count in Counter(names).items() if count > 1] == []
    titles = [grid.title for grid in report.grids]
    assert len(titles) == len(set(titles))


def factors_named(report: Report) -> set[str]:
    return {
        part.partition("=")[0] for effect, _ in names_of(report, "factors", "effect") for part in effect.split(" x ")
    }


axes = st.sampled_from([[first, second] for first in AXES for second in AXES if first < second])


@settings(max_examples=5)
@given(axes)
def test_a_factorial_names_every_level_of_every_axis_once(paths: list[str]) -> None:
    report = report_of([Factorial(vary={path: AXES[path] for path in paths})])
    assert_each_named_once(report)
    assert factors_named(report) == set(paths)
    mains = sum(len(AXES[path]) - 1 for path in paths)
    products = (len(AXES[paths[0]]) - 1) * (len(AXES[paths[1]]) - 1)
    assert len(names_of(report, "factors", "effect")) == mains + products
    assert {path for path, _ in names_of(report, "isolated", "path")} == set(paths)


def test_a_factorial_over_options_names_their_fields_where_two_are_of_a_kind() -> None:
    report = report_of([Factorial(vary={"heads": (2, 4), **OPTIONS})])
    assert_each_named_once(report)
    assert ("convolution=dynamic(kernel_size=15)", "held_out_loss") in names_of(report, "factors", "effect")


@pytest.mark.parametrize("names", [("wide", "few"), ("wide", "plain")])
def test_components_are_factors_by_their_own_names(names: tuple[str, ...]) -> None:
    components = {name: PARTS[name] for name in names}
    report = report_of([LeaveOneOut(components=components), KeepOne(components=components)])
    assert_each_named_once(report)
    assert [effect for effect, metric in names_of(report, "factors", "effect") if metric == "held_out_loss"] == [
        *names,
        " x ".join(names),
    ]
    assert {path for path, _ in names_of(report, "isolated", "path")} <= set(names)


def test_every_other_design_names_each_of_its_effects_once() -> None:
    listed = {
        "wide": {"convolution.kernel_size": 15},
        "narrow": {"convolution.kernel_size": 3},
        "two": {"heads": 2},
        "wide_two": {"convolution.kernel_size": 15, "heads": 2},
        "narrow_two": {"convolution.kernel_size": 3, "heads": 2},
    }
    as_list = report_of([ListDesign(arms=listed)])
    assert_each_named_once(as_list)
    assert factors_named(as_list) == {"heads", "convolution.kernel_size"}
    assert {path for path, _ in names_of(as_list, "isolated", "path")} == {"heads", "convolution.kernel_size"}
    for design in (
        OneFactor(vary={**AXES, **OPTIONS}),
        Ladder(components=PARTS),
        LeaveOneOut(components=PARTS),
        KeepOne(components=PARTS),
    ):
        assert_each_named_once(report_of([design]))


def test_a_main_effect_names_the_level_that_it_is_the_difference_from() -> None:
    report = report_of([Factorial(vary={"heads": (2, 4), "convolution.kernel_size": (3, 9, 15)})])
    result = {effect: against for effect, against, _ in names_of(report, "factors", "effect", "against")}
    assert result["heads=2"] == "4"
    assert result["convolution.kernel_size=3"] == result["convolution.kernel_size=15"] == "9"
    elsewhere = report_of([Factorial(vary={"heads": (2, 8), "convolution.kernel_size": (3, 15)})])
    result = {effect: against for effect, against, _ in names_of(elsewhere, "factors", "effect", "against")}
    assert (result["heads=8"], result["convolution.kernel_size=15"]) == ("2", "3")  # the baseline is not a run of it
