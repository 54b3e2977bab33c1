"""Contrasts over seeds and examples, paired, and pairs of arms that are looked up after a run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from reports.pair_report import pair_report, pairs_table
from reports.statistics.cell_test import SEEDS_AND_EXAMPLES, CellTest
from reports.statistics.contrasts import Contrasts, SampledExamples, sampled_examples
from reports.statistics.learning import Learning
from reports.statistics.metrics import Metric
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from steeplechase.analysis.difference import MeanTest
from steeplechase.analysis.effects import contrast_estimate
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.paired import holm
from steeplechase.analysis.two_way_variance import grouped, two_way_estimate
from steeplechase.ledger.example_tables import ExampleTable, Replicate
from tests.factories.paths import PUBLISHED
from tests.factories.reports import primary, table2
from tools.published_folder import Folder

LOSS = "held_out_loss"
ARMS = ("a", "b", "c")
RANDOM = np.random.default_rng(1)
REPLICATES = tuple(Replicate(arm, seed) for seed in (3, 1, 2) for arm in ARMS if (arm, seed) != ("b", 2))
VALUES = RANDOM.normal(size=(len(REPLICATES), 24)).astype(np.float32)
TABLE = ExampleTable(LOSS, REPLICATES, VALUES)
DIFFERENCE = {"a": 1.0, "b": -1.0}
CONTRAST = {"a": 0.5, "b": 0.5, "c": -1.0}


def contrasts(
    test: MeanTest, tables: Mapping[str, ExampleTable] | None = None, size: int = 1, metric: str = LOSS
) -> Contrasts:
    """Return the contrasts of arms whose values are the means over their examples."""
    tables = {LOSS: TABLE} if tables is None else tables
    sets = sampled_examples(metric, tables, ("first", "second"), lambda task: "accuracy", size)
    seeds = {arm: [one.seed for one in REPLICATES if one.arm == arm] for arm in ARMS}
    of_arms = {arm: {metric: {seed: mean_of(sets, arm, seed) for seed in seeds[arm]}} for arm in ARMS}
    return Contrasts(of_arms, lambda _: sets, test)


def mean_of(sets: Sequence[SampledExamples], arm: str, seed: int) -> float:
    """Return the sum over sets of the mean over examples; a number of its own where there are none."""
    arms = [each.by_arm[arm] for each in sets if arm in each.by_arm and seed in each.by_arm[arm].seeds]
    return float(sum(each.values[each.seeds.index(seed)].mean() for each in arms)) if arms else seed**2 * len(arm)


def rows(arm: str, seeds: tuple[int, ...]) -> np.ndarray:
    return np.stack([VALUES[REPLICATES.index(Replicate(arm, seed))] for seed in seeds])


@pytest.mark.parametrize("weights", [DIFFERENCE, CONTRAST])
@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("size", [1, 4])
def test_a_contrast_is_that_of_the_analysis_of_variance(
    test: MeanTest, size: int, weights: Mapping[str, float]
) -> None:
    found = contrasts(test, size=size).over_examples(weights, LOSS)
    assert found is not None
    seeds = {arm: (1, 3) if test is MeanTest.PAIRED or arm == "b" else (1, 2, 3) for arm in weights}
    parts = [weight * grouped(rows(arm, seeds[arm]), size) for arm, weight in weights.items()]
    parts = [np.sum(parts, axis=0)] if test is MeanTest.PAIRED else parts
    expected = two_way_estimate([part.mean(axis=1) for part in parts], [parts])
    assert np.array(found.interval()) == pytest.approx(np.array(expected.interval()))


@pytest.mark.parametrize("test", MeanTest)
def test_a_score_has_the_examples_of_every_task_in_it(test: MeanTest) -> None:
    tables = {f"{task}:accuracy": replace(TABLE, metric=f"{task}:accuracy") for task in ("first", "second")}
    tables["second:accuracy"] = replace(tables["second:accuracy"], values=VALUES[:, ::3] ** 2)
    both = contrasts(test, tables, metric="score")
    first = contrasts(test, {"first:accuracy": tables["first:accuracy"]}, metric="score")
    assert [each.count for each in both.examples("score")] == [24, 8]
    assert [each.unit for each in both.examples("score")] == ["dev examples of first", "dev examples of second"]
    for found, tasks in ((both, ("first", "second")), (first, ("first",))):
        parts = [
            [50.0 * weight * tables[f"{task}:accuracy"].of_arm(arm).values for arm, weight in DIFFERENCE.items()]
            for task in tasks
        ]
        if test is MeanTest.PAIRED:
            parts = [[part[0][[0, 2]] + part[1]] for part in parts]
        samples = [np.sum([part[at].mean(axis=1) for part in parts], axis=0) for at in range(len(parts[0]))]
        over = found.over_examples(DIFFERENCE, "score")
        assert over is not None
        expected = two_way_estimate(samples, parts)
        assert np.array(over.interval()) == pytest.approx(np.array(expected.interval()), rel=1e-4)


def with_losses(spread: float, test: MeanTest) -> tuple[Results, Results]:
    """Return a table without and with values of held-out predictions, whose means are those of the table."""
    view = table2()
    view = replace(view, document={**view.document, "comparison": str(test)})
    alone = results_of(view, primary)
    replicates = tuple(Replicate(arm, seed) for arm, loss in alone.values.items() for seed in loss[LOSS])
    means = np.array([alone.values[one.arm][LOSS][one.seed] for one in replicates])
    noise = np.random.default_rng(2).normal(size=(len(replicates), 40)) * spread
    values = means[:, None] + noise - noise.mean(axis=1, keepdims=True)
    return alone, results_of(view, primary, {LOSS: ExampleTable(LOSS, replicates, values.astype(np.float32))})


@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("spread", [0.0, 0.02, 5.0])
def test_no_interval_is_narrower_than_over_seeds_or_over_seeds_and_examples(test: MeanTest, spread: float) -> None:
    alone, both = with_losses(spread, test)
    for arm in (arm.name for arm in both.arms if arm.name != "baseline"):
        before, after = (found.effect(arm, Metric(LOSS)).difference for found in (alone, both))
        over = both.contrasts.over_examples({arm: 1.0, "baseline": -1.0}, LOSS)
        assert over is not None
        (low,), (high,) = over.interval()
        width = after.high - after.low  # type: ignore[operator]
        assert width >= max(before.high - before.low, high - low) * (1 - 1e-6)  # type: ignore[operator]
        assert after.delta == pytest.approx(before.delta)
        assert both.effect(arm, Metric("score")) == alone.effect(arm, Metric("score"))


@pytest.mark.parametrize("test", MeanTest)
def test_only_metrics_whose_examples_every_arm_has_are_more_than_over_seeds_alone(test: MeanTest) -> None:
    alone, both = with_losses(1.0, test)
    arms = [arm.name for arm in both.arms]
    assert alone.over_seeds_alone(arms, Metric(LOSS))
    assert not both.over_seeds_alone(arms, Metric(LOSS))
    assert both.over_seeds_alone(arms, Metric("score"))
    table = both.example_tables[LOSS]
    kept = [at for at, one in enumerate(table.replicates) if one.arm != arms[1]]
    without = ExampleTable(LOSS, tuple(table.replicates[at] for at in kept), table.values[kept])
    found = replace(both, example_tables={LOSS: without})
    assert found.over_seeds_alone(arms, Metric(LOSS))
    assert not found.over_seeds_alone([each for each in arms if each != arms[1]], Metric(LOSS))
    pair = (arms[1], "baseline", Metric(LOSS))
    assert found.difference(*pair) == alone.difference(*pair)


@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("of_seeds", [0.0, 0.05])
def test_seeds_do_not_reduce_what_the_examples_add(test: MeanTest, of_seeds: float) -> None:
    values = {seed: 1.0 + of_seeds * offset for seed, offset in enumerate((-1.0, 0.0, 1.0, 0.5))}
    others = dict.fromkeys(values, 1.2)
    over = Estimates(np.array([-0.2]), np.array([0.3]), np.array([3.0]))
    tested = CellTest(Metric(LOSS), values, others, test=test, over_examples=over)
    now, later = tested.at(len(values)), tested.at(10**6)
    assert now[0] == pytest.approx(0.3)
    assert later[0] == pytest.approx((0.3**2 - np.var([*values.values()], ddof=1) / len(values)) ** 0.5)
    assert later[1] >= now[1]
    alone = CellTest(Metric(LOSS), values, others, test=test)
    assert alone.at(10**6)[0] < 1e-3
    assert (tested.deciding, alone.deciding) == (SEEDS_AND_EXAMPLES, str(test))


@pytest.mark.parametrize("test", MeanTest)
def test_without_two_seeds_of_every_arm_or_two_examples_there_is_no_estimate_over_examples(test: MeanTest) -> None:
    alone = ExampleTable(LOSS, REPLICATES[:2], VALUES[:2])
    one_sequence = contrasts(test, size=VALUES.shape[1])
    for found in (contrasts(test, {LOSS: alone}), one_sequence):
        assert found.over_examples(DIFFERENCE, LOSS) is None
    assert contrasts(test).over_examples({"a": 1.0, "nobody": -1.0}, LOSS) is None
    both = contrast_estimate([one_sequence.values[arm][LOSS] for arm in DIFFERENCE], [1.0, -1.0], test)
    assert one_sequence.estimate(DIFFERENCE, LOSS).standard_error == both.standard_error


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
    assert "1 of 1 difference cannot be tested" in pair_report(results, one_seed).finding
