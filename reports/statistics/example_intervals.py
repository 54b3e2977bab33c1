"""Differences between arms over seeds and examples, from the values of single examples that a ledger keeps."""

from dataclasses import replace

from analysis.difference import MeanTest
from analysis.effects import estimate, wider
from analysis.estimates import Estimates
from analysis.two_way_bootstrap import grouped, two_way_estimate
from ledger.example_tables import ExampleTable

POINTS = 100.0
"""Of a score; those of single examples are shares."""


def estimate_over_examples(
    table: ExampleTable, arm: str, other: str, test: MeanTest, predictions_per_sequence: int = 1
) -> Estimates | None:
    """Return arm minus other over seeds and examples, seeds paired where the experiment declares it.

    With several predictions per sequence the sequences are the examples. None for fewer than two seeds of either, or
    two examples.
    """
    first, second = table.of_arm(arm), table.of_arm(other)
    values, others = first.values, second.values
    if test is MeanTest.PAIRED:
        seeds = sorted(set(first.seeds) & set(second.seeds))
        values, others = (each.values[[each.seeds.index(seed) for seed in seeds]] for each in (first, second))
    size = predictions_per_sequence
    if min(len(values), len(others)) < 2 or values.shape[1] < 2 * size:
        return None
    return two_way_estimate(grouped(values, size), grouped(others, size), paired=test is MeanTest.PAIRED)


def in_points(table: ExampleTable) -> ExampleTable:
    """Return the scores of single examples in points."""
    return replace(table, values=table.values * POINTS)


def wider_over_examples(points: ExampleTable, arm: str, other: str, test: MeanTest) -> Estimates | None:
    """Return arm minus other over seeds and examples, from scores in points.

    The wider of the two-way analysis of variance and of the test over seeds alone; None where the first is none.
    """
    over = estimate_over_examples(points, arm, other, test)
    if over is None:
        return None
    means, others = (
        dict(zip(each.seeds, each.values.mean(axis=1).tolist(), strict=True))
        for each in (points.of_arm(arm), points.of_arm(other))
    )
    return wider(over, estimate(means, others, test))
