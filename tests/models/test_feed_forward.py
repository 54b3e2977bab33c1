"""A grouped linear map is a block-diagonal dense one: same outputs, and no gradient across groups."""

import pytest
import torch
from small import architecture, convolutions, divisors, stir
from torch.nn.functional import gelu, linear

from models.feed_forward import FeedForward, GroupedLinear
from models.initialisation import initialise


@pytest.mark.parametrize("groups", divisors(12))
@pytest.mark.parametrize(("inputs", "outputs"), [(12, 24), (24, 12), (12, 12)])
def test_a_grouped_map_is_a_block_diagonal_dense_map(inputs: int, outputs: int, groups: int) -> None:
    grouped = GroupedLinear(inputs, outputs, groups)
    initialise(grouped, 1)
    stir(grouped)
    x = torch.randn(2, 5, inputs, generator=torch.Generator().manual_seed(1))
    dense = torch.block_diag(*(block.T for block in grouped.weight))
    assert dense.shape == (outputs, inputs)
    torch.testing.assert_close(grouped(x), linear(x, dense, grouped.bias), rtol=0, atol=1e-5)


@pytest.mark.parametrize("groups", divisors(8))
def test_groups_never_meet_inside_the_feed_forward_network(groups: int) -> None:
    """Contiguous channels form a group through both maps, so a channel reaches its own group alone."""
    feed_forward = FeedForward(architecture(convolutions()[0], groups))
    initialise(feed_forward, 1)
    stir(feed_forward)
    x = torch.randn(1, 1, 24, generator=torch.Generator().manual_seed(1))
    reach = torch.autograd.functional.jacobian(lambda token: feed_forward(token[None, None])[0, 0], x[0, 0])
    group_of = torch.arange(24) // (24 // groups)
    same = group_of[:, None] == group_of[None, :]
    assert isinstance(reach, torch.Tensor)
    assert (reach[same] != 0).all()
    assert not reach[~same].any()


def test_one_group_is_the_dense_network() -> None:
    feed_forward = FeedForward(architecture(convolutions()[0], 1))
    initialise(feed_forward, 1)
    stir(feed_forward)
    x = torch.randn(2, 3, 24, generator=torch.Generator().manual_seed(1))
    weights = dict(feed_forward.named_parameters())
    inner = gelu(linear(x, weights["up.weight"], weights["up.bias"]))
    expected = linear(inner, weights["down.weight"], weights["down.bias"])
    torch.testing.assert_close(feed_forward(x), expected, rtol=0, atol=1e-5)
