"""Differences between arms over seeds and examples, from the values of single examples that a ledger keeps."""

from analysis.effects import MeanTest
from analysis.estimates import Estimates
from analysis.two_way_bootstrap import TwoWayInterval, grouped, multi_bootstrap, two_way_estimate, two_way_interval
from ledger.example_tables import ExampleTable


def interval_over_examples(
    table: ExampleTable, arm: str, other: str, predictions_per_sequence: int = 1, bootstrap: bool = False
) -> TwoWayInterval | None:
    """Return the interval of arm minus other on the seeds that both have; None for fewer than two of these.

    Seeds are paired: two arms at one seed share batches, masks and the draws of a fine-tuning. With several
    predictions per sequence the sequences are the examples.
    """
    first, second = table.of_arm(arm), table.of_arm(other)
    seeds = sorted(set(first.seeds) & set(second.seeds))
    if len(seeds) < 2 or table.values.shape[1] < 2 * predictions_per_sequence:
        return None
    values, others = (
        grouped(each.values[[each.seeds.index(seed) for seed in seeds]], predictions_per_sequence)
        for each in (first, second)
    )
    interval = multi_bootstrap if bootstrap else two_way_interval
    return interval(values, others, paired=True)


def estimate_over_examples(table: ExampleTable, arm: str, other: str, test: MeanTest) -> Estimates | None:
    """Return arm minus other over seeds and examples, seeds paired where the experiment declares it.

    None for fewer than two seeds of either, or two examples.
    """
    first, second = table.of_arm(arm), table.of_arm(other)
    if test is MeanTest.PAIRED:
        seeds = sorted(set(first.seeds) & set(second.seeds))
        values, others = (each.values[[each.seeds.index(seed) for seed in seeds]] for each in (first, second))
    else:
        values, others = first.values, second.values
    if min(len(values), len(others)) < 2 or values.shape[1] < 2:
        return None
    return two_way_estimate(values, others, paired=test is MeanTest.PAIRED)
