"""Curves along an axis: their arms follow from the candidates, their values from the results."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.figures.axis_response import AxisPanel, AxisPoint, AxisResponse, covers_of, cut_of, draw, draw_narrow
from reports.figures.matplotlib_style import Figure
from reports.report import build
from search_space.candidate import Candidate
from steeplechase.ledger.records import ArmRow
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.reports import Trial, document, figure_data, picture, snapshot, table2

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
    curve = figure_data(build(view(candidates, seeds)), AxisResponse)
    assert curve is not None
    return curve


def kernels(*lengths: int, depth: int = 2) -> dict[str, dict[str, Any]]:
    arms = {f"n{length}-k{k}": candidate(k, length, depth) for length in lengths for k in KERNELS}
    return {"baseline": candidate(None, lengths[0], depth), **arms}


def test_a_line_per_length_each_with_its_kernel_size_of_full_coverage() -> None:
    (panel,) = curve_of(kernels(64, 32)).panels
    assert [line.label for line in panel.lines] == ["sequence length 64", "sequence length 32"]
    assert [line.cover for line in panel.lines] == [32.5, 16.5]  # 1 + (n - 1) / L
    assert all([point.value for point in line.points] == list(KERNELS) for line in panel.lines)


@pytest.mark.parametrize(("depth", "length", "cover"), [(12, 128, 1 + 127 / 12), (4, 33, 9.0)])
def test_the_cover_is_the_kernel_from_which_a_stack_sees_the_input(depth: int, length: int, cover: float) -> None:
    (panel,) = curve_of(kernels(length, depth=depth)).panels
    assert panel.lines[0].cover == pytest.approx(cover)
    kernel = panel.lines[0].cover
    assert kernel is not None
    assert 1 + depth * (kernel - 1) == pytest.approx(length)


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


def far_off(by: float) -> AxisPanel:
    """Return a panel with a given difference of kernel size 1 to 9 and small differences of the others."""
    losses = {1: 3 + by, 3: 3.01, 9: 3.0, 33: 3.02}
    arms = {f"k{kernel}": candidate(kernel) for kernel in losses}
    trials = [
        Trial(f"k{k}", seed).pretrained(loss + (k * seed) % 5 / 200) for k, loss in losses.items() for seed in (1, 2)
    ]
    rows = tuple(row(arm, position, given) for position, (arm, given) in enumerate(arms.items()))
    view = snapshot(trials, {}, resolved=document(seeds=(1, 2)))
    curve = figure_data(build(replace(view, arms=rows)), AxisResponse)
    assert curve is not None
    return curve.panels[0]


def test_an_outlying_value_is_written_as_text_and_the_others_are_drawn() -> None:
    panel = far_off(4.0)
    cut = cut_of(panel)
    assert cut is not None
    assert (cut.value, cut.above) == (1, True)
    for point in panel.lines[0].points:
        inside = cut.limits[0] <= (point.difference.delta or 0.0) <= cut.limits[1]
        assert inside == (point.value != 1)
    assert cut.limits[0] < cut.edge < cut.limits[1]
    assert cut_of(far_off(0.05)) is None


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


@given(st.permutations(list(kernels(64, 32).items())))
def test_the_order_of_the_arms_is_no_matter_beyond_that_of_the_lines(arms: list[tuple[str, dict[str, Any]]]) -> None:
    data = figure_data(build(view(dict(arms))), AxisResponse)
    assert data is not None
    assert {line.cover: [point.value for point in line.points] for line in data.panels[0].lines} == {
        32.5: list(KERNELS),
        16.5: list(KERNELS),
    }


def test_one_seed_draws_points_without_intervals() -> None:
    (panel,) = curve_of(kernels(64), seeds=(1,)).panels
    assert all(point.difference.low is None for point in panel.lines[0].points)
    names = [picture.name for picture in build(view(kernels(64), seeds=(1,))).pictures]
    assert names[0] == "axis"


@pytest.mark.parametrize("drawing", [draw, draw_narrow])
@pytest.mark.parametrize("lengths", [(64, 32), (40, 37, 34), (64, 64)])
def test_labels_of_full_coverage_are_within_the_figure_and_apart(
    lengths: tuple[int, ...], drawing: Callable[[AxisResponse], Figure]
) -> None:
    curve = curve_of(kernels(*lengths))
    figure = drawing(curve)
    for axes, panel in zip(figure.axes, curve.panels, strict=True):
        labels = [text for text in axes.texts if "full receptive field" in text.get_text()]
        assert len(labels) == len(covers_of(panel)) == len(set(lengths))
        boxes = [text.get_window_extent() for text in [*labels, axes.title]]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
        assert all(
            figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in boxes
        )


@pytest.mark.parametrize("sign", [1, -1])
def test_markers_of_points_outside_the_limits_are_within_them(sign: int) -> None:
    curve = curve_of(kernels(64, 32))
    (panel,) = curve.panels
    far = [
        replace(line, points=tuple(_moved(point, 9.0 * sign) if point.value == 1 else point for point in line.points))
        for line in panel.lines
    ]
    (axes,) = draw(replace(curve, panels=(replace(panel, lines=tuple(far)),))).axes
    low, high = axes.get_ylim()
    heights = [line.get_ydata()[0] for line in axes.lines if line.get_marker() in "^v" and len(line.get_ydata()) == 1]
    assert len(heights) == 2
    assert all(low < height < high for height in heights)


def _moved(point: AxisPoint, by: float) -> AxisPoint:
    moved = replace(point.difference, delta=by, low=by - 1, high=by + 1)
    return replace(point, difference=moved)
