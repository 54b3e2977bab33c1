"""Intervals over examples from a typed table: seeds that both arms have, paired; sequences as examples."""

import numpy as np
import pytest

from analysis.two_way_bootstrap import grouped, multi_bootstrap, two_way_interval
from ledger.example_tables import ExampleTable, Replicate
from reports.statistics.example_intervals import interval_over_examples

RANDOM = np.random.default_rng(1)
REPLICATES = tuple(Replicate(arm, seed) for seed in (3, 1, 2) for arm in ("a", "b") if (arm, seed) != ("b", 2))
VALUES = RANDOM.normal(size=(len(REPLICATES), 24)).astype(np.float32)
TABLE = ExampleTable("held_out_loss", REPLICATES, VALUES)


def rows(arm: str) -> np.ndarray:
    """Return the arm's values at the seeds that both have, 1 and 3."""
    return np.stack([VALUES[REPLICATES.index(Replicate(arm, seed))] for seed in (1, 3)])


@pytest.mark.parametrize("size", [1, 4])
def test_arms_are_paired_on_the_seeds_that_both_have(size: int) -> None:
    values, others = grouped(rows("a"), size), grouped(rows("b"), size)
    assert interval_over_examples(TABLE, "a", "b", size) == two_way_interval(values, others, paired=True)
    assert interval_over_examples(TABLE, "a", "b", size, bootstrap=True) == multi_bootstrap(
        values, others, paired=True
    )


def test_without_two_common_seeds_there_is_no_interval() -> None:
    assert interval_over_examples(TABLE, "a", "nobody") is None
    alone = ExampleTable("held_out_loss", REPLICATES[:2], VALUES[:2])
    assert interval_over_examples(alone, "a", "b") is None
