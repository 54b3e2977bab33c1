"""Intervals over examples from a typed table: seeds that both arms have, paired; sequences as examples."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.difference import MeanTest
from analysis.estimates import Estimates
from analysis.two_way_bootstrap import grouped, multi_bootstrap, two_way_estimate
from ledger.example_tables import ExampleTable, Replicate
from reports.statistics.comparisons import CellTest
from reports.statistics.example_intervals import estimate_over_examples
from reports.statistics.metrics import Metric
from reports.statistics.results import results_of
from tests.factories.reports import primary, table2

RANDOM = np.random.default_rng(1)
REPLICATES = tuple(Replicate(arm, seed) for seed in (3, 1, 2) for arm in ("a", "b") if (arm, seed) != ("b", 2))
VALUES = RANDOM.normal(size=(len(REPLICATES), 24)).astype(np.float32)
TABLE = ExampleTable("held_out_loss", REPLICATES, VALUES)


def rows(arm: str) -> np.ndarray:
    """Return the arm's values at the seeds that both have, 1 and 3."""
    return np.stack([VALUES[REPLICATES.index(Replicate(arm, seed))] for seed in (1, 3)])


@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("size", [1, 4])
def test_the_estimate_has_the_interval_of_the_analysis_of_variance(test: MeanTest, size: int) -> None:
    found = estimate_over_examples(TABLE, "a", "b", test, size)
    assert found is not None
    first, second = (TABLE.of_arm(arm).values for arm in ("a", "b"))
    if test is MeanTest.PAIRED:
        first, second = rows("a"), rows("b")
    expected = two_way_estimate(grouped(first, size), grouped(second, size), paired=test is MeanTest.PAIRED)
    assert np.array(found.interval()) == pytest.approx(np.array(expected.interval()))


@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("spread", [0.0, 5.0])
def test_no_interval_of_the_held_out_loss_is_narrower_than_over_predictions(test: MeanTest, spread: float) -> None:
    view = table2()
    view = replace(view, document={**view.document, "comparison": str(test)})
    alone = results_of(view, primary)
    replicates = tuple(Replicate(arm, seed) for arm, loss in alone.values.items() for seed in loss["held_out_loss"])
    means = np.array([alone.values[one.arm]["held_out_loss"][one.seed] for one in replicates])
    noise = np.random.default_rng(2).normal(size=(len(replicates), 40)) * spread
    values = means[:, None] + noise - noise.mean(axis=1, keepdims=True)
    both = results_of(
        view, primary, {"held_out_loss": ExampleTable("held_out_loss", replicates, values.astype(np.float32))}
    )
    for arm in (arm.name for arm in both.arms if arm.name != "baseline"):
        (before, after) = (found.effect(arm, Metric("held_out_loss")).difference for found in (alone, both))
        table = both.held_out_losses
        assert table is not None
        over = estimate_over_examples(table, arm, "baseline", test)
        assert over is not None
        (low,), (high,) = over.interval()
        pair = (table.of_arm(arm).values, table.of_arm("baseline").values)
        bootstrap = multi_bootstrap(*pair, paired=test is MeanTest.PAIRED)
        width = after.high - after.low  # type: ignore[operator]
        assert width >= max(before.high - before.low, high - low) * (1 - 1e-6)  # type: ignore[operator]
        assert width >= bootstrap.high - bootstrap.low
        assert after.delta == pytest.approx(before.delta)
        p = [found.comparison(arm, Metric("held_out_loss")).p for found in (alone, both)]
        assert (p[1] or 0.0) >= (p[0] or 0.0) * (1 - 1e-6)
        assert both.effect(arm, Metric("score")) == alone.effect(arm, Metric("score"))


@pytest.mark.parametrize("test", MeanTest)
@pytest.mark.parametrize("of_seeds", [0.0, 0.05])
def test_seeds_do_not_reduce_what_the_examples_add(test: MeanTest, of_seeds: float) -> None:
    values = {seed: 1.0 + of_seeds * offset for seed, offset in enumerate((-1.0, 0.0, 1.0, 0.5))}
    others = dict.fromkeys(values, 1.2)
    over = Estimates(np.array([-0.2]), np.array([0.3]), np.array([3.0]))
    tested = CellTest(Metric("held_out_loss"), values, others, test=test, over_examples=over)
    now, later = tested.at(len(values)), tested.at(10**6)
    assert now[0] == pytest.approx(0.3)
    assert later[0] == pytest.approx((0.3**2 - np.var([*values.values()], ddof=1) / len(values)) ** 0.5)
    alone = CellTest(Metric("held_out_loss"), values, others, test=test)
    assert alone.at(10**6)[0] < 1e-3


@pytest.mark.parametrize("test", MeanTest)
def test_without_two_seeds_of_either_arm_there_is_no_estimate(test: MeanTest) -> None:
    assert estimate_over_examples(TABLE, "a", "nobody", test) is None
    alone = ExampleTable("held_out_loss", REPLICATES[:2], VALUES[:2])
    assert estimate_over_examples(alone, "a", "b", test) is None


def test_one_sequence_alone_has_no_estimate() -> None:
    assert estimate_over_examples(TABLE, "a", "b", MeanTest.WELCH, VALUES.shape[1]) is None
