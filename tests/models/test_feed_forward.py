"""A grouped linear map is a block-diagonal dense one: same outputs, and no gradient across groups."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import gelu, linear, silu

from search_space.architecture import Architecture
from steeplechase.models.continuation import continuation_of
from steeplechase.models.initialisation import initialise
from tests.factories.small_experiments import architecture, convolutions, divisors, stir
from tests.factories.sublayers import feed_forward_of

SIZES = {"depth": 1, "width": 12, "embedding_width": 12, "heads": 2, "feed_forward_width": 8, "vocabulary_size": 9}


@pytest.mark.parametrize("groups", divisors(8))
def test_the_grouped_network_is_the_block_diagonal_dense_network(groups: int) -> None:
    """Equal outputs, and equal gradients on the blocks; the rest of the dense matrix has no counterpart."""
    feed_forward = feed_forward_of(architecture(convolutions()[0], groups))
    initialise(feed_forward, 1)
    stir(feed_forward)
    weights = dict(feed_forward.named_parameters())
    dense = {name: as_dense(weights[name]).requires_grad_() for name in ("up.weight", "down.weight")}
    x, wanted = torch.randn(2, 2, 5, 24, generator=torch.Generator().manual_seed(1))
    inner = gelu(linear(x, dense["up.weight"], weights["up.bias"]))
    expected = linear(inner, dense["down.weight"], weights["down.bias"])
    found = feed_forward(x)
    assert (found - expected).abs().max() / expected.abs().max() <= 1e-6
    ours = torch.autograd.grad((found * wanted).sum(), [weights[name] for name in dense])
    theirs = torch.autograd.grad((expected * wanted).sum(), list(dense.values()))
    for mine, full, name in zip(ours, theirs, dense, strict=True):
        on_the_blocks = full * (as_dense(torch.ones_like(weights[name])) > 0)
        assert (as_dense(mine) - on_the_blocks).abs().max() / full.abs().max() <= 1e-6, name


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("name", "function"), [("geglu", gelu), ("swiglu", silu)])
def test_a_gated_network_is_the_equation(name: str, function: Callable[[Tensor], Tensor], groups: int) -> None:
    """Shazeer 2020, eq. 6: the activation of one half times the other; also where a text is written word by word."""
    fields = {"feed_forward_activation": name, "feed_forward_groups": groups, "feed_forward_biases": False}
    feed_forward = feed_forward_of(Architecture.model_validate({**SIZES, **fields}))
    initialise(feed_forward, 1)
    stir(feed_forward)
    x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(1))
    up, down = (as_dense(feed_forward.get_parameter(f"{each}.weight")) for each in ("up", "down"))
    first, second = linear(x, up).unflatten(-1, (groups, 2, -1)).unbind(-2)
    expected = linear((function(first) * second).flatten(-2), down)
    assert (feed_forward(x) - expected).abs().max() <= 1e-6
    assert (continuation_of(feed_forward, None)(x) - expected).abs().max() <= 1e-6
    assert dict(feed_forward.named_parameters()).keys() == {"up.weight", "down.weight"}


def as_dense(weight: Tensor) -> Tensor:
    """Return a grouped map as one block-diagonal matrix in the layout of a dense map."""
    return weight.detach() if weight.ndim == 2 else torch.block_diag(*(block.T for block in weight.detach()))
