"""Decoding of a stack that was trained on [MASK]: a [MASK] behind the tokens so far is the next one.

UNILM, Dong et al. 2019, arXiv 1905.03197: the source is read in both directions, the target from left to right. The
first tokens of a decoding are the source.
"""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.attention_context import AttentionContext
from models.block import Block
from models.decoding_context import DecodingContext
from models.encoder import Encoder
from models.generation.decoding import Decoding, Logits
from models.precision import to_autocast_dtype
from models.sublayer.attention import Sublayer as SelfAttention
from models.visible_tokens import visible_tokens


class _Cloze:
    """The states of a stack at a [MASK] behind the tokens so far."""

    def __init__(self, encoder: Encoder, mask: int, segments: tuple[int, int] | None) -> None:
        self._encoder, self._mask, self._segments = encoder, mask, segments
        self._source = 0

    def states(
        self, tokens: Int[Tensor, "rows seq"], context: DecodingContext, new: int
    ) -> Float[Tensor, "rows 1 width"]:
        """Return the vector of the [MASK], which no cache keeps."""
        self._source = self._source or tokens.shape[1]
        masked = torch.cat([tokens, torch.full_like(tokens[:, :1], self._mask)], 1)
        if context.caches is None:
            visible = visible_tokens(["prefix"] * len(tokens), masked.shape[1], self._source, tokens.device)
            whole = self._encoder.read(masked, self._segments_of(masked), None, AttentionContext(visible=visible))
            return whole[:, -1:]
        self._decoded(tokens, context, new)
        return self._decoded(masked, replace(context, caches=dict(context.caches)), 1)

    def _decoded(
        self, tokens: Int[Tensor, "rows seq"], context: DecodingContext, new: int
    ) -> Float[Tensor, "rows new width"]:
        encoder = self._encoder
        x = to_autocast_dtype(encoder.embeddings(tokens, self._segments_of(tokens))[:, -new:])
        x = x if encoder.projection is None else encoder.projection(x)
        for number, block in enumerate(encoder.blocks):
            assert isinstance(block, Block)
            x = block.decode(x, context, f"{number}")
        return x if encoder.final_norm is None else to_autocast_dtype(encoder.final_norm(x))

    def _segments_of(self, tokens: Int[Tensor, "rows seq"]) -> Int[Tensor, "rows seq"] | None:
        if self._segments is None:
            return None
        places = torch.arange(tokens.shape[1], device=tokens.device).expand(len(tokens), -1)
        return torch.where(places < self._source, *self._segments)


def cloze_decoding(
    encoder: Encoder, logits: Logits, mask: int, segments: tuple[int, int] | None = None, *, cached: bool = True
) -> Decoding:
    """Return the decoding of a stack whose first tokens, all of one length, are the source; `mask` is [MASK].

    `segments` are those of the source and of the target. Raises ValueError for a stack that has convolutions,
    relative positions or recurrence, or reads one direction alone.
    """
    visibility = encoder.architecture.visibility
    if visibility not in ("bidirectional", "prefix"):
        raise ValueError(f"a {visibility} stack reads no source whole; visibility bidirectional is needed")
    attentions = [each for each in encoder.modules() if isinstance(each, SelfAttention)]
    plain = all(each.branch is None and each.relative is None for each in attentions)
    kinds = {kind for block in encoder.blocks if isinstance(block, Block) for kind in block.kinds}
    if not plain or not kinds <= {"attention", "feed_forward", "gated_linear_unit"}:
        raise ValueError(
            "a source and a target need attention alone: no convolution, relative positions or recurrence"
        )
    return Decoding(_Cloze(encoder, mask, segments).states, logits, cached=cached)
