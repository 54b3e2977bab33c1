"""Intervals of Shapley values hold at their level, over all orders and over the fewest random ones of a design."""

import pytest

from benchmarks.shapley_coverage import coverage
from configuration.designs.coalitions import ORDERS_AT_LEAST


@pytest.mark.parametrize(("components", "orders"), [(3, None), (5, ORDERS_AT_LEAST), (6, ORDERS_AT_LEAST)])
@pytest.mark.parametrize("seeds", [3, 5])
def test_intervals_hold_the_value_over_all_orders(components: int, orders: int | None, seeds: int) -> None:
    held, _, _ = coverage(components, orders, seeds, tables=400)
    assert held >= 0.92
