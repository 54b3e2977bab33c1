"""Attention maps of a trained encoder, for analysis; training does not use this file.

The forward pass is unchanged. A hook recomputes the attention weights of each block from the block's inputs, because
the fused kernel does not materialise them.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from steeplechase.models.attended import weights_of
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.continuation import by_head
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.encoder import Encoder
from steeplechase.models.sublayer.attention import Sublayer

Take = Callable[[int, Tensor], None]
"""Called with a layer, counted from 0, and its weights [batch heads seq seq]; rows are queries and sum to 1."""


def attention_map(
    attention: Sublayer,
    x: Float[Tensor, "batch seq width"],
    padding_mask: PaddingMask,
    context: AttentionContext = NO_CONTEXT,
) -> Float[Tensor, "batch heads seq seq"]:
    """Return the attention weights of each head, queries by keys; 0 for keys that are padding."""
    q, k = by_head(attention.query(x), attention.heads), by_head(attention.key(x), attention.key_heads)
    q, k, terms = attention.with_positions(q, k, context)
    mask = attention.mask(q, k, terms, padding_mask, context)
    return weights_of(q, k, mask, attention.score_cap)


@torch.inference_mode()
def visit_attention_maps(
    encoder: Encoder, tokens: Int[Tensor, "batch seq"], take: Take
) -> Float[Tensor, "batch seq width"]:
    """Call `take` with each layer's map, from the lowest layer up, and return the encoder's output.

    Raises ValueError for an encoder in training mode, because dropout would alter the maps.
    """
    if encoder.training:
        raise ValueError("the encoder is in training mode; call eval() first")

    def visit(layer: int, module: nn.Module, inputs: tuple[Tensor, PaddingMask, AttentionContext]) -> None:
        assert isinstance(module, Sublayer)
        take(layer, attention_map(module, *inputs))

    attentions = (module for module in encoder.modules() if isinstance(module, Sublayer))
    hooks = [each.register_forward_pre_hook(partial(visit, layer)) for layer, each in enumerate(attentions)]
    try:
        output: Tensor = encoder(tokens, None, None)
    finally:
        for hook in hooks:
            hook.remove()
    return output
