"""Measurements of the benchmarks: coverage of intervals, alternation of sides, memory."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from benchmarks.measuring import Disagreement, Pace, allocations, check, compare, median_interval
from steeplechase.models.activation_checkpointing import saved_bytes

FLOAT_BYTES = 4


@pytest.mark.parametrize("n", [7, 9, 12])
def test_the_interval_covers_the_median_at_its_nominal_rate(n: int) -> None:
    draws = np.random.default_rng(1).lognormal(sigma=0.5, size=(600, n))
    intervals = [median_interval(list(each)) for each in draws]
    assert 0.93 <= np.mean([each.low <= 1.0 <= each.high for each in intervals]) < 1
    if n > 8:
        assert any(each.low > min(row) for each, row in zip(intervals, draws, strict=True))


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5))
def test_few_pairs_give_their_full_range(ratios: list[float]) -> None:
    interval = median_interval(ratios)
    assert (interval.low, interval.high, interval.n) == (min(ratios), max(ratios), len(ratios))
    assert interval.low <= interval.ratio <= interval.high


def test_the_sides_alternate_and_so_does_their_order() -> None:
    order: list[str] = []
    compare(lambda: order.append("ours"), lambda: order.append("theirs"), Pace(pairs=4, seconds=0.0))
    assert order[-8:] == ["ours", "theirs", "theirs", "ours"] * 2


def test_a_ceiling_is_the_speed_up_at_the_cost_of_matrix_products_only() -> None:
    compared = compare(lambda: None, lambda: None, Pace(pairs=1, seconds=0.0))
    operations = 2 * compared.their_seconds * compared.operations_per_second
    assert compared.ceiling(operations) == pytest.approx(0.5)


def test_a_difference_is_detected() -> None:
    left = torch.tensor([1.0, 100.0])
    check("close", left, left + torch.tensor([0.0, 5e-4]), 1e-5)
    for wrong in (left + torch.tensor([0.0, 5e-3]), torch.tensor([torch.nan, 100.0]), left[:1]):
        with pytest.raises(Disagreement):
            check("far", wrong, left, 1e-5)


def test_saved_tensors_are_counted_once_by_storage() -> None:
    x = torch.randn(1000, requires_grad=True)
    assert saved_bytes(x.exp) == 1000 * FLOAT_BYTES  # the result
    assert saved_bytes(lambda: x + 1) == 0
    assert saved_bytes(lambda: x[:500] * x[500:]) == 1000 * FLOAT_BYTES  # two views of one storage


def test_allocations_inside_operators_and_backward_are_counted() -> None:
    x = torch.randn(50_000, requires_grad=True)
    whole = 50_000 * FLOAT_BYTES

    def chain() -> Tensor:
        once = x.detach() + 1
        twice = once * 2
        del once
        return twice + 1

    found = allocations(chain)
    assert found.peak == pytest.approx(2 * whole, rel=0.01)
    assert found.left == pytest.approx(whole, rel=0.01)
    assert allocations(x.exp).left == pytest.approx(whole, rel=0.01)
    forward_and_backward = allocations(lambda: torch.autograd.grad(x.exp().exp().sum(), x))
    assert forward_and_backward.left == pytest.approx(whole, rel=0.01)
    assert forward_and_backward.peak >= 3 * whole
