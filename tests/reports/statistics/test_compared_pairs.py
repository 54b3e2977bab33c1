"""Pairs of arms looked up after a run: those with the baseline are the report's, the correction is over all pairs."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from reports.pair_report import pair_report, pairs_table
from reports.statistics.learning import Learning
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from steeplechase.analysis.paired import holm
from tests.factories.paths import PUBLISHED
from tools.page_values import Folder

METRICS = (Metric("held_out_loss"), Metric("squad_v1_1"))
ORDERED = ("delta", "low", "high", "p", "p_adjusted")


@pytest.fixture(scope="module")
def results() -> Results:
    return Folder(PUBLISHED / "table2-wikipedia").results


def pairs(results: Results, *arms: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the rows of pairs by arm, reference and metric, of all arms without names."""
    named = arms or [arm.name for arm in results.arms]
    rows = [dict(row) for row in pairs_table(results, named, METRICS).rows]
    return {(row["arm"], row["reference"], row["metric"]): row for row in rows}


def test_every_pair_of_arms_is_there_once_by_metric_and_corrected_with_all_others(results: Results) -> None:
    names, every = [arm.name for arm in results.arms], pairs(results)
    assert every.keys() == {(*pair, metric.name) for metric in METRICS for pair in combinations(names, 2)}
    assert {row["family"] for row in every.values()} == {len(names) * (len(names) - 1) // 2}
    for metric in METRICS:
        of_metric = [row for row in every.values() if row["metric"] == metric.name]
        assert [row["p_adjusted"] for row in of_metric] == [*holm([row["p"] for row in of_metric])]


def test_pairs_with_the_baseline_have_the_differences_and_p_of_the_report(results: Results) -> None:
    for (arm, _, metric), row in pairs(results, "span_dynamic", "baseline").items():
        difference = results.effect(arm, Metric(metric)).difference
        assert (row["n"], row["delta"], row["low"]) == (difference.n, difference.delta, difference.low)
        assert row["p"] == pytest.approx(results.comparison(arm, Metric(metric)).p, rel=1e-12)


def test_the_order_of_two_arms_changes_the_sign_alone_and_what_is_shown_nothing(results: Results) -> None:
    every, backward = pairs(results), pairs(results, "depthwise", "dynamic")
    forward = pairs(results, "dynamic", "depthwise")
    for metric in (metric.name for metric in METRICS):
        one, other = forward["dynamic", "depthwise", metric], backward["depthwise", "dynamic", metric]
        turned = [-other["delta"], -other["high"], -other["low"], other["p"], other["p_adjusted"]]
        assert [one[name] for name in ORDERED] == pytest.approx(turned, rel=1e-9)
        (shown,) = (row for key, row in every.items() if {*key} == {"dynamic", "depthwise", metric})
        assert shown["p_adjusted"] == pytest.approx(one["p_adjusted"], rel=1e-9)


def test_one_arm_alone_is_compared_with_every_other(results: Results) -> None:
    others = {arm.name for arm in results.arms} - {"dynamic"}
    expected = {("dynamic", reference, metric.name) for reference in others for metric in METRICS}
    assert pairs(results, "dynamic").keys() == expected


def test_pairs_on_a_task_below_a_reference_are_not_counted_and_the_plateau_is_told(results: Results) -> None:
    partly = replace(results, learning={"dynamic": Learning({1: 1e6, 2: None}, 6.0)}, _answers={})
    every = pair_report(partly, pairs_table(partly, ["baseline", "dynamic", "depthwise"], METRICS))
    assert "of 3 differences" in every.finding
    assert "On squad_v1_1 no difference is claimed" in every.finding
    assert "The plateau of the loss was left by 1 of 2 seeds of dynamic" in every.finding
    alone = pair_report(results, pairs_table(results, ["baseline", "dynamic"], METRICS[1:]))
    assert "significant after" not in alone.finding
    every_pair = pairs_table(results, ["baseline", "dynamic"], METRICS)
    one_seed = replace(every_pair, rows=tuple({**row, "p_adjusted": None, "family": 0} for row in every_pair.rows))
    assert "0 of 1 difference can be tested" in pair_report(results, one_seed).finding
