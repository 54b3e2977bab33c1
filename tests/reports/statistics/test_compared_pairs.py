"""Pairs of arms looked up after a run: those with the baseline are the report's, the correction is over all pairs."""

from itertools import combinations

import pytest

from reports.pair_report import ComparedPair, compared_pairs
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from steeplechase.analysis.paired import holm
from tests.factories.paths import PUBLISHED
from tools.page_values import Folder

LOSS, SQUAD = Metric("held_out_loss"), Metric("squad_v1_1")
METRICS = (LOSS, SQUAD)


@pytest.fixture(scope="module")
def results() -> Results:
    return Folder(PUBLISHED / "table2-wikipedia").results


@pytest.fixture(scope="module")
def every(results: Results) -> tuple[ComparedPair, ...]:
    return compared_pairs(results, [arm.name for arm in results.arms], METRICS)


def test_every_pair_of_arms_is_there_once_by_metric(results: Results, every: tuple[ComparedPair, ...]) -> None:
    names = [arm.name for arm in results.arms]
    shown = [(pair.metric, frozenset((pair.arm, pair.reference))) for pair in every]
    assert len(set(shown)) == len(shown)
    assert set(shown) == {(metric, frozenset(pair)) for metric in METRICS for pair in combinations(names, 2)}
    assert {pair.family for pair in every} == {len(names) * (len(names) - 1) // 2}


def test_pairs_with_the_baseline_have_the_differences_and_p_of_the_report(results: Results) -> None:
    for arm in ("span_dynamic", "bottleneck"):
        for pair in compared_pairs(results, [arm, "baseline"], METRICS):
            assert pair.difference == results.effect(arm, pair.metric).difference
            assert pair.p == pytest.approx(results.comparison(arm, pair.metric).p, rel=1e-12)


def test_the_order_of_two_arms_changes_the_sign_alone(results: Results) -> None:
    forward = compared_pairs(results, ["dynamic", "depthwise"], METRICS)
    backward = compared_pairs(results, ["depthwise", "dynamic"], METRICS)
    for one, other in zip(forward, backward, strict=True):
        assert one.difference.delta == pytest.approx(-(other.difference.delta or 0.0), rel=1e-12)
        assert one.difference.low == pytest.approx(-(other.difference.high or 0.0), rel=1e-9)
        assert one.p == pytest.approx(other.p, rel=1e-9)
        assert one.p_adjusted == pytest.approx(other.p_adjusted, rel=1e-9)


def test_the_correction_does_not_depend_on_what_is_shown(results: Results, every: tuple[ComparedPair, ...]) -> None:
    adjusted = {(pair.arm, pair.reference, pair.metric): pair.p_adjusted for pair in every}
    for pair in compared_pairs(results, ["lightweight", "span_dynamic"], METRICS):
        assert pair.p_adjusted == pytest.approx(adjusted[pair.arm, pair.reference, pair.metric], rel=1e-9)
    for metric in METRICS:
        of_metric = [pair for pair in every if pair.metric == metric]
        assert [pair.p_adjusted for pair in of_metric] == [*holm([pair.p for pair in of_metric])]


def test_one_arm_alone_is_compared_with_every_other(results: Results) -> None:
    pairs = compared_pairs(results, ["dynamic"], [LOSS])
    assert [pair.arm for pair in pairs] == ["dynamic"] * (len(results.arms) - 1)
    assert {pair.reference for pair in pairs} == {arm.name for arm in results.arms} - {"dynamic"}
