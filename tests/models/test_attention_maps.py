"""Attention maps equal those of the fused kernel, and visiting them does not change the output."""

import pytest
import torch
from torch import Tensor, nn

from search_space.convolution import Convolution
from steeplechase.models.attention_maps import attention_map, visit_attention_maps
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.sublayer.attention import Sublayer
from tests.factories.small_experiments import SPAN_DYNAMIC, architecture, title, variants
from tests.factories.small_experiments import stir as moved
from tests.factories.sublayers import attention_of

LENGTH = 13
REAL = torch.arange(LENGTH)[None] < torch.tensor([LENGTH, 9, 1])[:, None]


def stir(model: nn.Module) -> None:
    """Set every parameter to random values."""
    initialise(model, 1)
    moved(model)


def by_the_map(attention: Sublayer, x: Tensor, padding_mask: Tensor | None) -> Tensor:
    """Return the output of the sublayer, with attention computed from the map."""
    query, value = attention.query(x), attention.value(x)
    weights = attention_map(attention, x, padding_mask)
    context = (weights @ value.unflatten(-1, (attention.heads, -1)).transpose(1, 2)).transpose(1, 2).flatten(-2)
    if attention.branch is not None:
        own = value if attention.branch.value is None else attention.branch.value(x)
        context = torch.cat([context, attention.branch(x, query, own, padding_mask)], -1)
    mixed: Tensor = attention.output(context)
    return mixed


@pytest.mark.parametrize("convolution", variants(), ids=title)
@pytest.mark.parametrize("padding_mask", [None, REAL], ids=["whole", "padded"])
def test_a_map_gives_the_output_of_the_fused_kernel(convolution: Convolution, padding_mask: Tensor | None) -> None:
    shape = architecture(convolution)
    attention = attention_of(shape, 0.0).double().eval()
    stir(attention)
    x = torch.randn(3, LENGTH, shape.width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert (by_the_map(attention, x, padding_mask) - attention(x, padding_mask)).abs().max() < 1e-12


def test_every_layer_is_visited_once_and_the_output_is_unchanged() -> None:
    encoder = Encoder(architecture(SPAN_DYNAMIC), 0.1).eval()
    stir(encoder)
    tokens = torch.randint(5, 30, (3, LENGTH), generator=torch.Generator().manual_seed(2))
    seen: list[int] = []
    with torch.no_grad():
        plain = encoder(tokens)
        assert torch.equal(visit_attention_maps(encoder, tokens, lambda layer, _: seen.append(layer)), plain)
        assert seen == [*range(len(encoder.blocks))]
        encoder(tokens)  # hooks are removed
    assert len(seen) == len(encoder.blocks)


def test_a_model_in_training_mode_is_refused() -> None:
    encoder = Encoder(architecture(variants()[0]), 0.1).train()
    with pytest.raises(ValueError, match="eval"):
        visit_attention_maps(encoder, torch.zeros(1, 4, dtype=torch.int64), lambda layer, weights: None)
