"""Curves along an axis: their arms follow from the candidates, their values from the results."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.report import build
from reports.sections.axis_response import AxisResponse, draw
from search_space.candidate import Candidate
from steeplechase.ledger.records import ArmRow
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import figure_data, picture
from tests.factories.reports import Trial, document, snapshot, table2

KERNELS = (1, 3, 5, 9, 33)


def candidate(kernel: int | None, length: int = 64, depth: int = 2) -> dict[str, Any]:
    convolution = {"kind": "none"} if kernel is None else {"kind": "span_dynamic", "kernel_size": kernel}
    sizes = {"depth": depth, "bottleneck_ratio": 2, "convolution": convolution}
    return {"architecture": sizes, "recipe": {"sequence_length": length}}


def row(name: str, position: int, given: Mapping[str, Any]) -> ArmRow:
    costs = {"parameters": 10, "forward_flops": 10, "train_flops": 10}
    return ArmRow(name, Candidate.model_validate(given), {}, position=position, cohort=0, **costs)


def view(candidates: Mapping[str, Mapping[str, Any]], seeds: tuple[int, ...] = (1, 2, 3)) -> Snapshot:
    trials = [
        Trial(arm, seed).pretrained(5 - position / 10 + seed / 7 + (position * seed) % 3 / 100)
        for position, arm in enumerate(candidates)
        for seed in seeds
    ]
    rows = tuple(row(arm, index, given) for index, (arm, given) in enumerate(candidates.items()))
    view = snapshot(trials, {}, resolved=document(seeds=seeds))
    return Snapshot(view.experiment, view.scale, view.document, view.labels, rows, view.histories, view.shared)


def curve_of(candidates: Mapping[str, Mapping[str, Any]], seeds: tuple[int, ...] = (1, 2, 3)) -> AxisResponse:
    return figure_data(build(view(candidates, seeds)), AxisResponse)


def kernels(*lengths: int, depth: int = 2) -> dict[str, dict[str, Any]]:
    arms = {f"n{length}-k{k}": candidate(k, length, depth) for length in lengths for k in KERNELS}
    return {"baseline": candidate(None, lengths[0], depth), **arms}


def test_a_line_per_length() -> None:
    (panel,) = curve_of(kernels(64, 32)).panels
    assert [line.label for line in panel.lines] == ["sequence length 64", "sequence length 32"]
    assert all([point.value for point in line.points] == list(KERNELS) for line in panel.lines)


def test_differences_are_paired_with_the_declarations_own_value() -> None:
    (panel,) = curve_of(kernels(64)).panels
    line = panel.lines[0]
    usual = next(point for point in line.points if point.value == 9)
    assert (line.reference, usual.difference.n, line.label) == (9, 0, "")
    for point in line.points:
        if point is not usual:
            assert point.difference.n == 3
            assert point.difference.delta == pytest.approx(point.mean - usual.mean)
            assert point.difference.low is not None


def test_differences_are_paired_with_the_smallest_value_where_the_declarations_own_was_not_measured() -> None:
    arms = {f"k{kernel}": candidate(kernel) for kernel in (3, 5, 33)}
    (panel,) = curve_of({"baseline": candidate(None), **arms}).panels
    assert panel.lines[0].reference == 3
    assert [point.difference.n for point in panel.lines[0].points] == [0, 3, 3]


def test_the_axis_is_the_one_that_most_arms_lie_on() -> None:
    heads = {f"h{heads}": {"architecture": {"heads": heads}} for heads in (2, 4, 8, 16)}
    ratios = {
        f"{name}-g2": {"architecture": {**given["architecture"], "bottleneck_ratio": 2}}
        for name, given in heads.items()
    }
    curve = curve_of({"baseline": {"architecture": {"heads": 1}}, **heads, **ratios})
    assert curve.axis == "heads"
    assert sorted(line.label for line in curve.panels[0].lines) == ["bottleneck ratio 1", "bottleneck ratio 2"]


def test_two_points_are_no_curve_and_a_table_of_kinds_has_none() -> None:
    two = {"baseline": candidate(3), "k5": candidate(5)}
    assert picture(build(view(two)), "axis") is None
    assert picture(build(table2()), "axis") is None


@settings(max_examples=8)
@given(st.permutations(list(kernels(64, 32).items())))
def test_the_order_of_the_arms_is_no_matter_beyond_that_of_the_lines(arms: list[tuple[str, dict[str, Any]]]) -> None:
    (panel,) = curve_of(dict(arms)).panels
    assert {line.label: [point.value for point in line.points] for line in panel.lines} == {
        "sequence length 64": list(KERNELS),
        "sequence length 32": list(KERNELS),
    }


def test_labels_of_the_axis_are_apart() -> None:
    arms = {f"k{kernel}": candidate(kernel) for kernel in (1, 3, 29, 31, 33)}
    (axes,) = draw(curve_of({"baseline": candidate(None), **arms})).axes
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3", "29"]
    assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))


def test_an_arm_that_shares_no_seed_with_the_reference_has_no_point() -> None:
    shown = view({f"k{kernel}": candidate(kernel) for kernel in (3, 5, 9)})
    apart = [each for each in shown.histories if (each.trial.arm == "k9") == (each.trial.seed == 3)]
    paired = replace(shown, histories=tuple(apart), document=document(comparison="paired"))
    (axes,) = draw(figure_data(build(paired), AxisResponse)).axes
    assert [9.0, 3.0] not in [[*line.get_xdata()] for line in axes.lines]
    assert 9.0 in axes.lines[1].get_xdata()
