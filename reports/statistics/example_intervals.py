"""Differences between arms over seeds and examples, from the values of single examples that a ledger keeps."""

from analysis.difference import MeanTest
from analysis.estimates import Estimates
from analysis.two_way_bootstrap import grouped, two_way_estimate
from ledger.example_tables import ExampleTable


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
