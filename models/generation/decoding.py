"""A decoder under way: the probabilities of the next token, with caches or by one pass over all tokens so far.

One interface serves the decoder of an encoder–decoder, and a single stack that reads from left to right.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import log_softmax

from models.block import Block
from models.decoding_context import DecodingContext, Source
from models.encoder import Encoder
from models.encoder_decoder import EncoderDecoder
from models.precision import to_autocast_dtype, to_float32

States = Callable[[Tensor, DecodingContext, int], Tensor]
"""From tokens [rows seq], the context and a number of new tokens to the vectors of those [rows new width]."""
Logits = Callable[[Tensor], Tensor]
"""From vectors [rows width] to logits [rows vocab]."""


class Decoding:
    """Rows of tokens that grow at their end, all by as many at a time."""

    def __init__(self, states: States, logits: Logits, source: Source | None = None, *, cached: bool = True) -> None:
        self._states, self._logits = states, logits
        self._context = DecodingContext(source, caches={} if cached else None)
        self._tokens: Tensor | None = None

    def advance(self, tokens: Int[Tensor, "rows new"]) -> Float[Tensor, "rows vocab"]:
        """Append tokens; return the log-probabilities in nats of the one behind them, in float32."""
        self._tokens = tokens if self._tokens is None else torch.cat([self._tokens, tokens], 1)
        new = tokens.shape[1] if self._context.caches is not None else self._tokens.shape[1]
        states = self._states(self._tokens, self._context, new)
        return log_softmax(to_float32(self._logits(states[:, -1])), -1)

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with other rows: each new row is the one that is named for it, of the same source."""
        assert self._tokens is not None
        self._tokens = self._tokens[rows]
        if self._context.caches is not None:
            self._context.reorder(rows)


def target_decoding(model: EncoderDecoder, source: Source, beams: int = 1, *, cached: bool = True) -> Decoding:
    """Return the decoding of a target, with `beams` consecutive rows for each row of the source."""
    rows = torch.arange(len(source.states), device=source.states.device).repeat_interleave(beams)
    return Decoding(model.decoder, model.logits, source.rows(rows) if beams > 1 else source, cached=cached)


def stack_decoding(encoder: Encoder, logits: Logits, *, cached: bool = True) -> Decoding:
    """Return the decoding of a single stack. Raises ValueError unless it reads from left to right."""
    visibility = encoder.architecture.visibility
    if visibility != "left_to_right":
        raise ValueError(f"a {visibility} stack cannot generate; visibility left_to_right is needed")
    return Decoding(partial(_stack_states, encoder), logits, cached=cached)


def _stack_states(
    encoder: Encoder, tokens: Int[Tensor, "rows seq"], context: DecodingContext, new: int
) -> Float[Tensor, "rows new width"]:
    x = to_autocast_dtype(encoder.embeddings(tokens, None)[:, -new:])
    if encoder.projection is not None:
        x = encoder.projection(x)
    for number, block in enumerate(encoder.blocks):
        assert isinstance(block, Block)
        x = block.decode(x, context, f"{number}")
    return x if encoder.final_norm is None else to_autocast_dtype(encoder.final_norm(x))


def without_padding(source: Source) -> Source:
    """Return a source whose mask is left out where nothing is padding, which is faster."""
    mask = source.padding_mask
    return replace(source, padding_mask=None) if mask is not None and bool(mask.all()) else source
